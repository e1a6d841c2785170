/**
 * The types of openapi.yaml. The build of the package puts the generated file in the place of this one, so no other file
 * of the package may import it.
 */
export type { components, operations } from '../../../contract/operations.d.ts'
