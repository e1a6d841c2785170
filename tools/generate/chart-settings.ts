import { readOperatorConfig } from '../../services/operator/config.ts'
import { readStandaloneConfig } from '../../services/standalone/config.ts'
import { EnvReader } from '../../shared/config/env-reader.ts'
import type { Maker } from './maker.ts'
import { SERVICE_READERS } from './service-readers.ts'

const READERS: Record<string, (read: EnvReader) => unknown> = {
  ...SERVICE_READERS,
  migrate: readStandaloneConfig,
  operator: readOperatorConfig,
}

const SERVICES = ['analysts', 'api', 'gateway', 'loader', 'operator', 'refill', 'rollup', 'standalone']

/** The names of the settings that each process in the chart reads, so that the chart gives it these and no others. */
export const chartSettings: Maker = {
  file: 'deploy/helm/tally/files/settings.json',
  sources: [
    ...SERVICES.map((service) => `services/${service}/config.ts`),
    'shared/clickhouse/config.ts',
    'shared/config/common-settings.ts',
    'shared/config/env-reader.ts',
    'shared/event-log/config.ts',
    'shared/event-log/kafka/config.ts',
    'shared/http/config.ts',
    'shared/lifecycle/crash-at.ts',
    'shared/logging/config.ts',
    'shared/postgres/core/config.ts',
    'shared/rate-limit/client-address.ts',
    'shared/rate-limit/config.ts',
    'shared/redis/config.ts',
    'shared/service/admin-config.ts',
    'tools/generate/chart-settings.ts',
    'tools/generate/service-readers.ts',
  ],
  make: () => {
    // Services also read what only tests set.
    const documented = namesOf(readStandaloneConfig)
    const names = Object.entries(READERS).map(([kind, readConfig]) => [
      kind,
      namesOf(readConfig).filter((name) => documented.includes(name)),
    ])
    return Promise.resolve(`${JSON.stringify(Object.fromEntries(names), undefined, 2)}\n`)
  },
}

function namesOf(readConfig: (read: EnvReader) => unknown): string[] {
  const read = new EnvReader({})
  readConfig(read)
  return read.settings.map(({ name }) => name)
}
