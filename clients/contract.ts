import type { components } from '../contract/operations.d.ts'

/** A schema of openapi.yaml, by its name. */
export type SchemaOf<Name extends keyof components['schemas']> = components['schemas'][Name]
