import path from 'node:path'
import { format, resolveConfig } from 'prettier'
import type { CliOperation, Field } from '../../clients/cli/src/operation.ts'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { type OpenApiDocument, readOpenApiDocument, type Schema } from '../../shared/http/openapi-document.ts'
import type { Maker } from './maker.ts'
import { readSdkOperations, resolved, SDK_OPERATIONS_SOURCES, type SdkOperation } from './sdk-operations.ts'

const FILE = 'clients/cli/src/operations.gen.ts'

/** What the command line knows of each operation. */
export const cliOperations: Maker = {
  file: FILE,
  sources: [
    ...SDK_OPERATIONS_SOURCES,
    'clients/cli/src/operation.ts',
    'tools/generate/cli-operations.ts',
    '.prettierrc.json',
  ],
  make: async () => {
    const document = readOpenApiDocument()
    const operations = readSdkOperations(document).map((operation) => cliOperation(document, operation))
    const text = `// Made by npm run generate from openapi.yaml and clients/operations.ts.

import type { CliOperation } from './operation.ts'

/** The operations of openapi.yaml, in its order. */
export const OPERATIONS: readonly CliOperation[] = ${JSON.stringify(operations)}
`
    const config = await resolveConfig(path.join(PROJECT_ROOT, FILE))
    return format(text, { ...config, parser: 'typescript', quoteProps: 'as-needed' })
  },
}

interface Described {
  parameters?: (Schema & {
    name: string
    in: string
    required?: boolean
    description?: string
    schema: Schema
  })[]
  requestBody?: { content: Record<string, { schema: Schema }> }
}

/** Options of every command. No field may have the name of one. */
const TAKEN = ['url', 'key-file', 'profile', 'json', 'yes', 'body', 'unset', 'all-pages', 'help', 'version']

function cliOperation(document: OpenApiDocument, operation: SdkOperation): CliOperation {
  const { id, resource, name, method, path: template, summary, pathParameters, query, body } = operation
  const described = document.paths[template]?.[method.toLowerCase()] as unknown as Described
  const fields = [...queryFields(document, described), ...bodyFields(document, described, method)]
  const taken = fields.find((field) => TAKEN.includes(field.name.replaceAll('_', '-')))
  if (taken !== undefined)
    throw new RangeError(`${id}: ${taken.name} is the name of an option of every command`)
  return {
    id,
    resource,
    method: name,
    route: `${method} ${template}`,
    summary,
    path: pathParameters,
    query,
    body,
    isKeyed: operation.isKeyed,
    isList: operation.rules.page !== undefined,
    fields,
  }
}

const queryFields = (document: OpenApiDocument, { parameters = [] }: Described): Field[] =>
  parameters
    .map((parameter) => resolved(document, parameter))
    .filter((parameter) => parameter.in === 'query')
    .map(({ name, required = false, description, schema }) => ({
      name,
      in: 'query',
      isRequired: required,
      takesNull: false,
      ...describe(document, schema, description),
    }))

function bodyFields(document: OpenApiDocument, { requestBody }: Described, method: string): Field[] {
  const given = requestBody?.content['application/json']?.schema
  if (given === undefined) return []
  const schema = resolved(document, given)
  // A body of several forms has the fields of all of them. Only those that all forms need are required.
  const forms = schema.oneOf?.map((form) => resolved(document, form)) ?? [schema]
  const fields = new Map<string, Schema[]>()
  for (const { properties = {} } of forms)
    for (const [name, field] of Object.entries(properties))
      fields.set(name, [...(fields.get(name) ?? []), field])
  return [...fields].map(([name, variants]) => ({
    name,
    in: 'body',
    isRequired: forms.every(({ required = [] }) => required.includes(name)),
    takesNull: variants.some((one) => takesNull(document, one, method)),
    ...describe(document, variants.length === 1 ? (variants[0] ?? {}) : { anyOf: variants }, undefined),
  }))
}

/** In a POST, null is the same as an absent field, unless the field says otherwise. */
const takesNull = (document: OpenApiDocument, field: Schema, method: string): boolean =>
  field['x-null-is-a-value'] === true ||
  (method === 'PATCH' &&
    formsOf(document, field).some(({ type }) => type === 'null' || type?.includes('null')))

/** All schemas that a value may have to fit, without references. */
function formsOf(document: OpenApiDocument, given: Schema): Schema[] {
  const schema = resolved(document, given)
  const inner = [...(schema.allOf ?? []), ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]
  return [schema, ...inner.flatMap((one) => formsOf(document, one))]
}

function describe(
  document: OpenApiDocument,
  schema: Schema,
  description: string | undefined,
): Pick<Field, 'kind' | 'choices' | 'about'> {
  const forms = formsOf(document, schema)
  const kind = kindOf(document, forms)
  const parts = kind === 'list' ? forms.flatMap(({ items = {} }) => formsOf(document, items)) : forms
  const choices = [...new Set(parts.flatMap((form) => [...(form.enum ?? []), ...constOf(form)]))]
  const abouts = [{ description }, ...forms].map((form) => (form as { description?: string }).description)
  const standard = forms
    .map((form) => (form as { default?: unknown }).default)
    .find((one) => one !== undefined)
  return {
    kind,
    ...(choices.length > 0 && { choices: choices.map(String) }),
    about: [firstSentence(abouts.find((one) => one !== undefined) ?? ''), standardText(standard)]
      .filter((part) => part !== '')
      .join(' '),
  }
}

const constOf = (form: Schema): unknown[] => (form.const === undefined ? [] : [form.const])

const firstSentence = (text: string): string =>
  /^[^]*?\.(?=\s|$)/.exec(text)?.[0].replaceAll(/\s+/g, ' ') ?? text

const standardText = (standard: unknown): string =>
  ['string', 'number', 'boolean'].includes(typeof standard) ? `Default: ${standard as string}.` : ''

function kindOf(document: OpenApiDocument, forms: readonly Schema[]): Field['kind'] {
  const kinds = new Set(forms.flatMap((form) => kindsOfForm(document, form)))
  if (kinds.size === 1) return [...kinds][0] ?? 'json'
  return 'json'
}

function kindsOfForm(document: OpenApiDocument, form: Schema): Field['kind'][] {
  const types = [form.type ?? []].flat().filter((type) => type !== 'null')
  return types.map((type) => {
    if (type === 'string') return 'text'
    if (type === 'boolean') return 'boolean'
    if (type === 'integer') return form.format === 'int64' ? 'time' : 'integer'
    const items = type === 'array' && form.items !== undefined ? formsOf(document, form.items) : []
    return items.some((item) => item.type === 'string') ? 'list' : 'json'
  })
}
