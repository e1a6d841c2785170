import type { Caller } from '../domain/api-key.ts'
import { HttpError } from './http-error.ts'

/** @throws HttpError 403 when what a live company has is at stake */
export function requireTestCompany({ mode }: Caller): void {
  if (mode !== 'test') throw new HttpError(403, 'only for test companies: this key belongs to a live company')
}
