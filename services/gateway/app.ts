import type { RequestListener } from 'node:http'
import { readOpenApiDocument } from '../../shared/http/openapi-document.ts'
import { operationsApp, type OperationsAppOptions } from '../../shared/http/operations-app.ts'
import { explainBatch } from './offending-events.ts'
import type { CorrectUsage } from './correct-usage.ts'
import type { ReportUsage } from './report-usage.ts'
import { patchEvent, postCorrections, voidEvent } from './routes/correct-events.ts'
import { schemaCompiler } from './report-schemas.ts'
import { postEvent, postEventBatch } from './routes/report-events.ts'
import { postSeed } from './routes/seed-test-company.ts'
import type { SeedNamespace } from './seed-namespace.ts'

export interface GatewayAppOptions extends Omit<
  OperationsAppOptions,
  'handlersCheckText' | 'limitsRequests'
> {
  seedNamespace: SeedNamespace
}

/** What the gateway does. */
export interface GatewayWork {
  report: ReportUsage
  correct: CorrectUsage
}

/** The HTTP service that takes reports and corrections, in full: report-listener.ts stands in front of it. */
export function gatewayApp(
  { report, correct }: GatewayWork,
  options: GatewayAppOptions,
  document = readOpenApiDocument(),
  compile = schemaCompiler(document),
): RequestListener {
  const { events, requests } = options.limits
  const handlers = {
    reportEvent: { handle: postEvent(report, events) },
    reportEvents: {
      handle: postEventBatch(report, events),
      explainInvalid: explainBatch(document, compile, {
        operationId: 'reportEvents',
        list: 'events',
        schema: 'NewUsageEvent',
      }),
    },
    correctEvent: { handle: patchEvent(correct, events) },
    voidEvent: { handle: voidEvent(correct, events) },
    correctEvents: {
      handle: postCorrections(correct, events),
      explainInvalid: explainBatch(document, compile, {
        operationId: 'correctEvents',
        list: 'corrections',
        schema: 'EventCorrection',
      }),
    },
    seedTestCompany: { handle: postSeed(options.seedNamespace, requests) },
  }
  return operationsApp(handlers, { ...options, handlersCheckText: true, limitsRequests: false })
}
