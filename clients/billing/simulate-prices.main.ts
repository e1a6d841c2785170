import { runProgram } from '../core/run-program.ts'
import { runPriceSimulation } from './simulate-prices/run-price-simulation.ts'

runProgram(runPriceSimulation, 'npm run simulate-prices -- --card …', process)
