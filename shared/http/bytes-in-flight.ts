import { Shares } from '../batching/shares.ts'
import { HttpError } from './http-error.ts'

const MIB = 1_024 * 1_024

/**
 * Bytes that this process keeps in memory for its clients: inflated bodies that are being read or wait for work, and
 * answers that are not read yet. The limits ensure that many slow clients together cannot take all memory, and that the
 * clients of one company can take only a part of it.
 */
export const bytesInFlight = new Shares({ max: 512 * MIB, maxOfOne: 128 * MIB })

export const tooMuchAtOnce = (): HttpError =>
  new HttpError(503, 'too many large requests are on their way, try again', { 'Retry-After': '1' })
