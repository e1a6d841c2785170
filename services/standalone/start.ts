import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Metrics } from '../../shared/metrics/metrics.ts'
import type { StandaloneConfig } from './config.ts'
import type { DataFolder } from './data-folder.ts'
import type { Engines } from './engines.ts'

/** The arguments of each step of the start. */
export interface Start {
  config: StandaloneConfig
  folder: DataFolder
  engines: Engines
  /** Everything that is open. A step adds each part at once, so that it is closed when a later step fails. */
  opened: Closeable[]
  metrics: Metrics
  log: Logger
}
