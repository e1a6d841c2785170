import { createLogger, LOG_LEVELS } from '../../shared/logging/logger.ts'

/** The log of tests, which is silent unless TEST_LOG_LEVEL is set. */
export const testLog = createLogger(
  LOG_LEVELS.find((level) => level === process.env['TEST_LOG_LEVEL']) ?? 'silent',
)
