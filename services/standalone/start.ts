import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Metrics } from '../../shared/metrics/metrics.ts'
import type { StandaloneConfig } from './config.ts'
import type { DataFolder } from './data-folder.ts'
import type { Engines } from './engines.ts'

/** What each step of the start is given. */
export interface Start {
  config: StandaloneConfig
  folder: DataFolder
  engines: Engines
  /** What is open; a step enters what it opens at once, so that it is closed when a later one fails. */
  opened: Closeable[]
  metrics: Metrics
  log: Logger
}
