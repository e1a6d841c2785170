import { readApiServiceConfig } from '../../services/api/config.ts'
import { readGatewayServiceConfig } from '../../services/gateway/config.ts'
import { readLoaderServiceConfig } from '../../services/loader/config.ts'
import { readRefillServiceConfig } from '../../services/refill/config.ts'
import { readRollupServiceConfig } from '../../services/rollup/config.ts'
import type { EnvReader } from '../../shared/config/env-reader.ts'

/** Reads the settings of each service that is a process of its own. Only gateway and API have a `port`. */
export const SERVICE_READERS: Record<
  string,
  (read: EnvReader) => { admin: { port: number }; port?: number }
> = {
  gateway: readGatewayServiceConfig,
  loader: readLoaderServiceConfig,
  api: readApiServiceConfig,
  refill: readRefillServiceConfig,
  rollup: readRollupServiceConfig,
}
