import type { Caller } from '../domain/api-key.ts'
import { HttpError } from './http-error.ts'

/** @throws HttpError 403 for a key of a live company */
export function requireTestCompany({ mode }: Caller): void {
  if (mode !== 'test') throw new HttpError(403, 'only for test companies: this key belongs to a live company')
}
