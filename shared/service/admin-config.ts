import { readPort } from '../config/common-settings.ts'
import type { EnvReader } from '../config/env-reader.ts'

/**
 * Reads the address at which a process answers probes and shows its metrics, and how long it says there that it ends.
 *
 * @param port the default port. Each service has a different one, so that all services can run on one machine
 */
export const readAdminConfig = (read: EnvReader, port: number) => ({
  port: readPort(read, 'ADMIN_PORT', 'the port for probes and metrics', port),
  host: read.string('ADMIN_HOST', {
    about: 'the address ADMIN_PORT is on; anyone who can reach it can read the metrics',
    default: '127.0.0.1',
  }),
  shutdownDelayMs: read.integer('SHUTDOWN_DELAY_MS', {
    about:
      'milliseconds a process still serves after SIGTERM, while /readyz answers 503, so that a load balancer stops sending requests; then it ends within ten seconds',
    default: 0,
    min: 0,
    max: 300_000,
  }),
})

export type AdminConfig = ReturnType<typeof readAdminConfig>
