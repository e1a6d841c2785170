export {
  GaveUpError,
  InvalidEventError,
  RejectedEventError,
  ReporterClosedError,
  ReporterError,
  ReporterFullError,
  UnsentError,
  WrongCompanyError,
} from './errors.ts'
export type { ReporterOptions, ReporterProblem, SpoolSettings } from './options.ts'
export type { UsageEvent } from './usage-event.ts'
export { type CloseResult, type ReporterStats, UsageReporter } from './usage-reporter.ts'
