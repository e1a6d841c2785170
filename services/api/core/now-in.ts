import type { Response } from 'express'
import { nowOf } from '../../../shared/http/enter-world.ts'
import { secondsOf } from './body-fields.ts'

/** What time it is for the caller, in whole Unix seconds. */
export const nowIn = (res: Response): number => secondsOf(nowOf(res))
