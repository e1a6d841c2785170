import type { EnvReader } from '../config/env-reader.ts'
import { LOG_LEVELS, type LogLevel } from './logger.ts'

export const readLogLevel = (read: EnvReader): LogLevel =>
  read.oneOf('LOG_LEVEL', LOG_LEVELS, {
    about: 'how much is logged on standard error: as JSON, at a terminal as lines for people',
    default: 'info',
  })
