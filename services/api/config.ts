import type { EnvReader } from '../../shared/config/env-reader.ts'

/** Settings of the API. */
export function readApiConfig(read: EnvReader) {
  return {
    bodyBytesMax: read.integer('API_BODY_BYTES_MAX', {
      about: 'bytes any other body may have once inflated',
      default: 256 * 1_024,
      min: 1_024,
      max: 16 * 1_024 * 1_024,
    }),
  }
}
