import type { RequestListener } from 'node:http'
import { readOpenApiDocument } from '../../shared/http/openapi-document.ts'
import { handlersOf } from '../../shared/http/operation.ts'
import { operationsApp, type OperationsAppOptions } from '../../shared/http/operations-app.ts'
import type { CorrectUsage } from './correct-usage.ts'
import { explainBatch } from './offending-events.ts'
import { schemaCompiler } from './report-schemas.ts'
import type { ReportUsage } from './report-usage.ts'
import { correctionOperations } from './routes/correct-events.ts'
import { reportOperations } from './routes/report-events.ts'
import { seedOperation } from './routes/seed-test-company.ts'
import type { SeedNamespace } from './seed/seed-namespace.ts'

export interface GatewayAppOptions extends Omit<
  OperationsAppOptions,
  'handlersCheckText' | 'limitsRequests'
> {
  seedNamespace: SeedNamespace
}

export interface GatewayWork {
  report: ReportUsage
  correct: CorrectUsage
}

/** The complete HTTP service for reports and corrections. report-listener.ts passes requests on to it. */
export function gatewayApp(
  { report, correct }: GatewayWork,
  options: GatewayAppOptions,
  document = readOpenApiDocument(),
  compile = schemaCompiler(document),
): RequestListener {
  const { events, requests } = options.limits
  const explain = (operationId: 'reportEvents' | 'correctEvents', list: string, schema: string) =>
    explainBatch(document, compile, { operationId, list, schema })
  const operations = [
    ...reportOperations(report, events, explain('reportEvents', 'events', 'NewUsageEvent')),
    ...correctionOperations(correct, events, explain('correctEvents', 'corrections', 'EventCorrection')),
    seedOperation(options.seedNamespace, requests),
  ]
  return operationsApp(handlersOf(operations), {
    ...options,
    handlersCheckText: true,
    limitsRequests: false,
  })
}
