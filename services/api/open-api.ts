import type { RequestListener } from 'node:http'
import type { Access } from '../../shared/http/open-access.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { apiApp, type ApiDeps } from './app.ts'
import type { readApiConfig } from './config.ts'

export interface ApiParts extends ApiDeps {
  access: Access
  log: Logger
}

export interface ApiOptions {
  api: ReturnType<typeof readApiConfig>
  requestTimeoutMs: number
}

/** The API on its engines, for a process of its own or one with others. */
export function openApi(
  { access, log, ...deps }: ApiParts,
  { api, requestTimeoutMs }: ApiOptions,
): RequestListener {
  return apiApp(deps, {
    ...access,
    requestTimeoutMs,
    log: log.child({ part: 'api' }),
    bodyBytesMax: api.bodyBytesMax,
  })
}
