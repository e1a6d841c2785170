import { TallyClient, type TallyOptions } from './core/client.ts'
import { fetchTransport } from './core/fetch-transport.ts'

export * from './exports.ts'

/** A client of Tally, which sends by fetch. */
export class Tally extends TallyClient {
  /** @throws TypeError when an option is not valid */
  constructor(options: TallyOptions = {}) {
    super(options, { transport: fetchTransport })
  }
}
