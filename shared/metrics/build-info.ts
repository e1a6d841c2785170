import { VERSION } from '../config/version.ts'
import type { Metrics } from './metrics.ts'

/**
 * Shows which version and which service a process is. The value is always 1, so an alert can look for a service
 * without knowing the names of Prometheus' jobs.
 *
 * @param kind `gateway`, `loader`, `api`, `refill`, `rollup`, or `standalone` for all of them in one process
 */
export function showBuildInfo(metrics: Metrics, kind: string): void {
  metrics
    .gauge('tally_build_info', 'The version and the service.', ['version', 'kind'])
    .set([VERSION, kind], 1)
}
