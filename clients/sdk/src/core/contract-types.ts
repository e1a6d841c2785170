import type { components, operations } from '../contract.ts'
import type { AMOUNT_FIELDS } from '../operations.gen.ts'

/** The schemas of openapi.yaml, by name: `Schemas['Account']`. */
export type Schemas = components['schemas']

/** The id of an operation of openapi.yaml. */
export type OperationId = keyof operations

/** An amount that is sent. A number must be a safe integer, because others may have lost digits already. */
export type AmountInput = string | bigint | number

/** Of an answer with several media types, what a request in JSON gets. */
type Content<Response> = Response extends { readonly content: infer Types }
  ? Types extends { readonly 'application/json': infer Json }
    ? Json
    : Types[keyof Types]
  : never

type Success<Responses> = Responses extends { readonly 200: infer Response }
  ? Response
  : Responses extends { readonly 202: infer Response }
    ? Response
    : never

/** The body of the successful answer of an operation. */
export type Answer<Id extends OperationId> = Content<Success<operations[Id]['responses']>>

/** An item of a list. */
export type Item<Id extends OperationId> =
  Answer<Id> extends { readonly data: readonly (infer Entry)[] } ? Entry : never

/** The query of an operation. */
export type Query<Id extends OperationId> = operations[Id] extends {
  readonly parameters: { readonly query?: infer Parameters }
}
  ? Input<NonNullable<Parameters>>
  : never

/** The body of a request, as JSON. */
export type Body<Id extends OperationId> = operations[Id] extends {
  readonly requestBody?: infer Request
}
  ? NonNullable<Request> extends { readonly content: { readonly 'application/json': infer Json } }
    ? Input<Json>
    : never
  : never

type AmountField = (typeof AMOUNT_FIELDS)[number]

/** A request as a caller may give it: its amounts may be numbers, and optional fields may be undefined. */
type Input<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends readonly (infer Entry)[]
    ? readonly Input<Entry>[]
    : {
        readonly [Field in keyof T]:
          | (Field extends AmountField
              ? T[Field] | AmountInput
              : Field extends 'properties'
                ? T[Field]
                : Input<T[Field]>)
          | (object extends Pick<T, Field> ? undefined : never)
      }
