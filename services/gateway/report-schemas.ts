import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { findAmountFault } from '../../shared/amount/amount.ts'
import type { OpenApiDocument } from '../../shared/http/openapi-document.ts'
import type { ReportedEvent } from './reported-event.ts'

/** The schemas of openapi.yaml that a body of reported usage must match. */
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

/** Compiles the schema at a JSON pointer of openapi.yaml. */
export type CompileSchema = <T>(pointer: string) => ValidateFunction<T>

/**
 * Makes a compiler of schemas of openapi.yaml. A process should make only one, because each compiler reads the whole
 * document. Compiled schemas stop at the first fault, because a list of all faults in 4 MiB of nonsense takes more
 * memory than the body.
 */
export function schemaCompiler(document: OpenApiDocument): CompileSchema {
  const ajv = new Ajv2020({ strict: false })
  ajv.addFormat('int64', true) // only a hint for client generators: type and maximum limit the numbers
  ajv.addFormat('amount', (text: string) => findAmountFault(text) === undefined)
  ajv.addSchema({ ...document, $id: 'openapi' })
  return <T>(pointer: string) => ajv.compile<T>({ $ref: `openapi#${pointer}` })
}
