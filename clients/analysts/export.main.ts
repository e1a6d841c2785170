import { runProgram } from '../core/run-program.ts'
import { runExport } from './export/run-export.ts'

runProgram(runExport, 'npm run export -- --view …', process)
