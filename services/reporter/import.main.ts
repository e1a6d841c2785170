import { runImport } from './import/run-import.ts'
import { runProgram } from './program.ts'

runProgram(runImport, process)
