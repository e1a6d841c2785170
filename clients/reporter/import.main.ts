import { runProgram } from '../core/run-program.ts'
import { runImport } from './import/run-import.ts'

runProgram(runImport, 'npm run import -- --file …', process)
