import { runImport } from './import/run-import.ts'
import { runProgram } from '../core/run-program.ts'

runProgram(runImport, 'npm run import -- --file …', process)
