import { TallyClient, type TallyOptions } from './core/client.ts'
import { httpTransport } from './node/http-transport.ts'

export * from './exports.ts'

/** A client of Tally, which sends by node:http. */
export class Tally extends TallyClient {
  /** @throws TypeError when an option is not valid */
  constructor(options: TallyOptions = {}) {
    super(options, { transport: httpTransport })
  }
}
