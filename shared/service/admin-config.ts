import { readPort } from '../config/common-settings.ts'
import type { EnvReader } from '../config/env-reader.ts'

/**
 * Reads the address at which a process answers probes and shows its metrics.
 *
 * @param port the default port. Each service has a different one, so that all services can run on one machine
 */
export const readAdminConfig = (read: EnvReader, port: number) => ({
  port: readPort(read, 'ADMIN_PORT', 'the port for probes and metrics', port),
  host: read.string('ADMIN_HOST', {
    about: 'the address ADMIN_PORT is on; anyone who can reach it can read the metrics',
    default: '127.0.0.1',
  }),
})

export type AdminConfig = ReturnType<typeof readAdminConfig>
