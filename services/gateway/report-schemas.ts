import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { findAmountFault } from '../../shared/amount/amount.ts'
import type { OpenApiDocument } from '../../shared/http/openapi-document.ts'
import type { ReportedEvent } from './reported-event.ts'

/** What a body of reported usage must be, as openapi.yaml has it. */
export interface ReportSchemas {
  isEvent: ValidateFunction<ReportedEvent>
  isBatch: ValidateFunction<{ events: ReportedEvent[] }>
}

/** Compiles the schemas of reports. */
export function compileReportSchemas(compile: CompileSchema): ReportSchemas {
  return {
    isEvent: compile<ReportedEvent>('/components/schemas/NewUsageEvent'),
    isBatch: compile<{ events: ReportedEvent[] }>(
      '/paths/~1v2~1events~1batch/post/requestBody/content/application~1json/schema',
    ),
  }
}

/** Compiles a schema of openapi.yaml, by where it stands in it. */
export type CompileSchema = <T>(pointer: string) => ValidateFunction<T>

/**
 * Makes a compiler of schemas of openapi.yaml. A process needs one: each takes the whole document in. What it compiles
 * stops at the first fault: gathering all of them in 4 MiB of nonsense takes more memory.
 */
export function schemaCompiler(document: OpenApiDocument): CompileSchema {
  const ajv = new Ajv2020({ strict: false })
  ajv.addFormat('int64', true) // for who generates clients; what numbers may be, type and maximum say
  ajv.addFormat('amount', (text: string) => findAmountFault(text) === undefined)
  ajv.addSchema({ ...document, $id: 'openapi' })
  return <T>(pointer: string) => ajv.compile<T>({ $ref: `openapi#${pointer}` })
}
