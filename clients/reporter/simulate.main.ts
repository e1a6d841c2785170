import { runProgram } from '../core/run-program.ts'
import { runSimulation } from './simulate/run-simulation.ts'

runProgram(runSimulation, 'npm run simulate -- --rate …', process)
