import { createLogger, LOG_LEVELS } from '../../shared/logging/logger.ts'

/** Quiet unless TEST_LOG_LEVEL says otherwise. */
export const testLog = createLogger(
  LOG_LEVELS.find((level) => level === process.env['TEST_LOG_LEVEL']) ?? 'silent',
)
