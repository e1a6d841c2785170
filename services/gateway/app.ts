import type { Express } from 'express'
import { readOpenApiDocument } from '../../shared/http/openapi-document.ts'
import { operationsApp, type OperationsAppOptions } from '../../shared/http/operations-app.ts'
import { explainBatch } from './offending-events.ts'
import { reportUsage, type ReportUsageDeps } from './report-usage.ts'
import { postEvent, postEventBatch } from './routes/report-events.ts'

/** The HTTP service that takes reported usage. */
export function gatewayApp(
  deps: ReportUsageDeps,
  options: Omit<OperationsAppOptions, 'handlersCheckText'>,
): Express {
  const report = reportUsage(deps)
  const handlers = {
    reportEvent: { handle: postEvent(report) },
    reportEvents: { handle: postEventBatch(report), explainInvalid: explainBatch(readOpenApiDocument()) },
  }
  return operationsApp(handlers, { ...options, handlersCheckText: true })
}
