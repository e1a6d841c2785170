/** How the text of an option becomes a part of a request. */
type FieldKind = 'text' | 'integer' | 'time' | 'boolean' | 'list' | 'json'

/** A field of a query or of a body, which is an option of its command. */
export interface Field {
  /** As in the contract: `account_id`. */
  name: string
  in: 'query' | 'body'
  kind: FieldKind
  isRequired: boolean
  /** Whether null has a meaning of its own, for example that an external id is removed. */
  takesNull: boolean
  /** The only values, if they are listed. */
  choices?: readonly string[]
  about: string
}

/** An operation of the API, as a command. */
export interface CliOperation {
  /** The operationId in openapi.yaml. */
  id: string
  /** Its name in the SDK: `client.accounts.balanceDaily`. */
  resource: string
  method: string
  /** As in openapi.yaml: `GET /v2/accounts/{account_id}`. */
  route: string
  summary: string
  /** The names in the path, in their order. */
  path: readonly string[]
  query: 'none' | 'optional' | 'required'
  body: 'none' | 'optional' | 'required'
  /** Whether the request may have an Idempotency-Key. */
  isKeyed: boolean
  /** Whether it answers with a page of a list. */
  isList: boolean
  fields: readonly Field[]
}
