import { reporterVectors } from '../../test/clients/sdk/reporter/vectors.ts'
import type { Maker } from './maker.ts'

const TESTS = 'test/clients/sdk/reporter'

/** The histories that the reporters of all languages must run, from the plain reporter. */
export const reporterVectorsFile: Maker = {
  file: 'clients/vectors/reporter.json',
  sources: [
    'tools/generate/reporter-vectors.ts',
    `${TESTS}/vectors.ts`,
    `${TESTS}/histories.ts`,
    `${TESTS}/plain-reporter.ts`,
  ],
  make: () => {
    const { histories, ...rest } = reporterVectors()
    // A line for each history, so that a difference can be read.
    const lines = histories.map((history) => JSON.stringify(history)).join(',\n')
    const head = JSON.stringify(rest, undefined, 1).slice(0, -2)
    return Promise.resolve(`${head},\n "histories": [\n${lines}\n]}\n`)
  },
}
