import { allAnswer } from '../../shared/admin/probes.ts'
import { appendSettlesMs } from '../../shared/event-log/config.ts'
import { LOADER_GROUP } from '../../shared/event-log/event-log.ts'
import { openEventLog } from '../../shared/event-log/open-event-log.ts'
import { hostToCall } from '../../shared/http/host-to-call.ts'
import { openAccess } from '../../shared/http/open-access.ts'
import { openServers } from '../../shared/http/open-servers.ts'
import { crashAt } from '../../shared/lifecycle/crash-at.ts'
import { exitWith } from '../../shared/lifecycle/exit-with.ts'
import { runService, type Service } from '../../shared/lifecycle/run-service.ts'
import {
  LOG_CONNECTIONS,
  openServicePool,
  REPORT_CONNECTIONS,
} from '../../shared/postgres/open-service-pool.ts'
import { requirePostgresServer } from '../../shared/postgres/require-server.ts'
import { microsecondClock } from '../../shared/time/microsecond-clock.ts'
import { Acceptance } from './acceptance.ts'
import { readGatewayServiceConfig } from './config.ts'
import { openGateway } from './open-gateway.ts'

const gateway: Service<ReturnType<typeof readGatewayServiceConfig>> = {
  name: 'gateway',
  about: 'Takes reported usage into the event log, in a process of its own; npm run migrate goes before.',
  readConfig: readGatewayServiceConfig,
  async open(config, opened, log) {
    const { postgres, host, port, requestTimeoutMs } = config
    const pool = openServicePool('gateway', REPORT_CONNECTIONS, postgres, opened, log)
    await requirePostgresServer(postgres.url, pool)
    const logPool = openServicePool('event log', LOG_CONNECTIONS, postgres, opened, log)
    const eventLog = await openEventLog(config.eventLog, { pool: logPool, alone: false, log })
    opened.push(eventLog)
    const clock = microsecondClock()
    const settleMs = appendSettlesMs(config.eventLog.appendDeadlineMs, postgres.statementTimeoutMs)
    const acceptance = new Acceptance(clock, settleMs)
    const access = openAccess(pool, config.rateLimits)
    const reached = crashAt(config.crashAt)
    const handler = openGateway({ pool, eventLog, acceptance, clock, access, log, reached }, config)
    const server = await openServers(opened, log).open(handler, {
      name: 'the gateway',
      host,
      port,
      portSetting: 'PORT',
      hostSetting: 'HOST',
      requestTimeoutMs,
    })
    return {
      address: `${hostToCall(host)}:${server.port}`,
      isLive: () => true,
      // The log alone: what else the gateway asks PostgreSQL for it remembers for a while.
      isReady: () => allAnswer(() => eventLog.lag(LOADER_GROUP)),
    }
  },
}

exitWith(() => runService(gateway))
