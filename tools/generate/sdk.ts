import path from 'node:path'
import { format, resolveConfig } from 'prettier'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { readOpenApiDocument } from '../../shared/http/openapi-document.ts'
import type { Maker } from './maker.ts'
import {
  byResource,
  listAmountFields,
  readSdkOperations,
  SDK_OPERATIONS_SOURCES,
  type SdkOperation,
} from './sdk-operations.ts'

const HEAD = '// Made by npm run generate from openapi.yaml and clients/operations.ts.\n'

/** What the client knows of each operation. */
export const sdkOperations = sdkMaker('clients/sdk/src/operations.gen.ts', operationsText)

/** The methods of the client for TypeScript. */
export const sdkResources = sdkMaker('clients/sdk/src/resources.gen.ts', resourcesText)

function sdkMaker(
  file: string,
  textOf: (operations: readonly SdkOperation[], amounts: readonly string[]) => string,
): Maker {
  return {
    file,
    sources: [...SDK_OPERATIONS_SOURCES, 'tools/generate/sdk.ts', '.prettierrc.json'],
    make: async () => {
      const document = readOpenApiDocument()
      const text = HEAD + textOf(readSdkOperations(document), listAmountFields(document))
      const config = await resolveConfig(path.join(PROJECT_ROOT, file))
      return format(text, { ...config, parser: 'typescript' })
    },
  }
}

function operationsText(operations: readonly SdkOperation[], amounts: readonly string[]): string {
  return `
import type { OperationFacts } from './core/operation-facts.ts'

/** The fields of request bodies that are amounts. */
export const AMOUNT_FIELDS = [${amounts.map(quoted).join(', ')}] as const

/** The operations of openapi.yaml, by their id. */
export const OPERATIONS = {
${operations.map(factsText).join('\n')}
} as const satisfies Readonly<Record<string, OperationFacts>>
`
}

function resourcesText(operations: readonly SdkOperation[]): string {
  const groups = [...byResource(operations)]
  const fields = groups.map(([resource]) => `readonly ${resource}: ${typeName(resource)}`)
  const filled = groups.map(([resource]) => `this.${resource} = ${resource}Of(call)`)
  return `
import type { Call, CallOptions } from './core/call.ts'
import type { Answer, Body, Item, Query } from './core/contract-types.ts'
import type { Pages } from './core/pages.ts'
import { OPERATIONS } from './operations.gen.ts'

${groups.map(([resource, methods]) => resourceText(resource, methods)).join('\n\n')}

/** The methods of a client, by resource. */
export abstract class Resources {
${fields.join('\n')}

protected constructor(call: Call) {
${filled.join('\n')}
}
}
`
}

function factsText({ id, rules, method, path: template, status, mediaType }: SdkOperation): string {
  const { retry, page, made } = rules
  const facts = [
    `id: ${quoted(id)}`,
    `method: ${quoted(method)}`,
    `path: ${quoted(template)}`,
    `status: ${status}`,
    `mediaType: ${quoted(mediaType)}`,
    `retry: ${quoted(retry)}`,
    ...(page === undefined ? [] : [`cursor: ${quoted(page)}`]),
    ...(made === undefined ? [] : [`made: ${quoted(made)}`]),
  ]
  return `${id}: { ${facts.join(', ')} },`
}

function resourceText(resource: string, operations: readonly SdkOperation[]): string {
  const methods = operations.map(methodText).join('\n')
  return `const ${resource}Of = (call: Call) => ({\n${methods}\n})\nexport type ${typeName(resource)} = ReturnType<typeof ${resource}Of>`
}

function methodText(operation: SdkOperation): string {
  const { id, name, rules, pathParameters, query, body } = operation
  const names = pathParameters.map(camelCase)
  const contents = [
    ...(query === 'none' ? [] : [`query${query === 'optional' ? '?' : ''}: Query<'${id}'>`]),
    ...(body === 'none' ? [] : [`body${body === 'optional' ? '?' : ''}: Body<'${id}'>`]),
  ]
  const parameters = [
    ...names.map((parameter) => `${parameter}: string`),
    ...contents,
    'options?: CallOptions',
  ].join(', ')
  const content = `{ ${[...(query === 'none' ? [] : ['query']), ...(body === 'none' ? [] : ['body'])].join(', ')} }`
  const [result, called] =
    rules.page === undefined ? [`Promise<Answer<'${id}'>>`, 'one'] : [`Pages<Item<'${id}'>>`, 'pages']
  return `${commentOf(operation)}
    ${name}: (${parameters}): ${result} =>
      call.${called}(OPERATIONS.${id}, [${names.join(', ')}], ${content}, options),`
}

function commentOf({ summary, method, path: template, permissions }: SdkOperation): string {
  const needs = permissions.length === 0 ? 'No key is needed' : `Needs ${permissions.map(coded).join(' or ')}`
  return `/**\n * ${summary}. ${coded(`${method} ${template}`)}\n *\n * ${needs}.\n */`
}

const quoted = (text: string): string => `'${text}'`
const coded = (text: string): string => `\`${text}\``
const camelCase = (name: string): string =>
  name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
const typeName = (resource: string): string => `${resource.charAt(0).toUpperCase()}${resource.slice(1)}`
