import type { components, paths } from '../../../contract/operations.d.ts'

/** A schema of openapi.yaml. */
export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name]

/** The body of an operation's 200. */
type BodyOf<Operation> = Operation extends {
  responses: { 200: { content: { 'application/json': infer Body } } }
}
  ? Body
  : never

/** The paths that have a GET with an answer in JSON. */
export type ReadPath = {
  [Path in keyof paths]: paths[Path] extends { get: infer Operation }
    ? BodyOf<Operation> extends never
      ? never
      : Path
    : never
}[keyof paths]

export type ReadAnswer<Path extends ReadPath> = BodyOf<paths[Path]['get']>

/** The query of a GET. */
export type ReadQuery<Path extends ReadPath> = paths[Path]['get'] extends {
  parameters: { query?: infer Query }
}
  ? Query & object
  : never

export type Permission = Schema<'Permission'>
