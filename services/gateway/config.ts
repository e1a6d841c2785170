import type { EnvReader } from '../../shared/config/env-reader.ts'

/** Settings of the gateway. */
export function readGatewayConfig(read: EnvReader) {
  return {
    bodyBytesMax: read.integer('GATEWAY_BODY_BYTES_MAX', {
      about: 'bytes a body of reported usage may have once inflated',
      default: 4 * 1_024 * 1_024,
      min: 1_024,
      max: 64 * 1_024 * 1_024,
    }),
    knownIdsMax: read.integer('GATEWAY_KNOWN_IDS_MAX', {
      about: 'accounts and metrics the gateway remembers to exist',
      default: 200_000,
      min: 1_000,
      max: 10_000_000,
    }),
  }
}
