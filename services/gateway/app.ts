import type { Express } from 'express'
import { readOpenApiDocument } from '../../shared/http/openapi-document.ts'
import { operationsApp, type OperationsAppOptions } from '../../shared/http/operations-app.ts'
import { explainBatch } from './offending-events.ts'
import type { ReportUsage } from './report-usage.ts'
import { postEvent, postEventBatch } from './routes/report-events.ts'
import { postSeed } from './routes/seed-test-company.ts'
import type { SeedWorld } from './seed-world.ts'

export interface GatewayAppOptions extends Omit<
  OperationsAppOptions,
  'handlersCheckText' | 'limitsRequests'
> {
  seedWorld: SeedWorld
}

/** The HTTP service that takes reported usage, in full: report-listener.ts stands in front of it. */
export function gatewayApp(report: ReportUsage, options: GatewayAppOptions): Express {
  const { events, requests } = options.limits
  const handlers = {
    reportEvent: { handle: postEvent(report, events) },
    reportEvents: {
      handle: postEventBatch(report, events),
      explainInvalid: explainBatch(readOpenApiDocument()),
    },
    seedTestCompany: { handle: postSeed(options.seedWorld, requests) },
  }
  return operationsApp(handlers, { ...options, handlersCheckText: true, limitsRequests: false })
}
