import { runProgram } from '../core/run-program.ts'
import { runPreview } from './preview/run-preview.ts'

runProgram(runPreview, 'npm run preview -- --at …', process)
