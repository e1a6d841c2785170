import { type OpenApiDocument, readOpenApiDocument } from '../../shared/http/openapi-document.ts'
import type { Maker } from './maker.ts'
import { type PythonTypes, pythonTypes, type PythonTypesText, typeName } from './python-types.ts'
import {
  byResource,
  listAmountFields,
  readSdkOperations,
  SDK_OPERATIONS_SOURCES,
  type SdkOperation,
} from './sdk-operations.ts'

const FOLDER = 'clients/python/src/tally'
const HEAD = '# Made by npm run generate from openapi.yaml and clients/operations.ts.\n'

interface Read {
  operations: readonly SdkOperation[]
  types: PythonTypesText
  document: OpenApiDocument
}

/** The TypedDicts of the client for Python. */
export const pythonTypesFile = pythonMaker('_types_gen.py', ({ types }) => typesText(types))

/** What the client for Python knows of each operation. */
export const pythonOperations = pythonMaker('_operations_gen.py', ({ operations, document }) =>
  operationsText(operations, listAmountFields(document)),
)

/** The methods of the client for Python, for calls that block and for asyncio. */
export const pythonResources = pythonMaker('_resources_gen.py', resourcesText)

function pythonMaker(file: string, textOf: (read: Read) => string): Maker {
  return {
    file: `${FOLDER}/${file}`,
    sources: [...SDK_OPERATIONS_SOURCES, 'tools/generate/python-sdk.ts', 'tools/generate/python-types.ts'],
    make: () => {
      const document = readOpenApiDocument()
      const operations = readSdkOperations(document)
      const types = pythonTypes(document, operations)
      return Promise.resolve(`${HEAD}${textOf({ operations, types, document }).trim()}\n`)
    },
  }
}

function typesText({ text, names }: PythonTypesText): string {
  return `
from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

if sys.version_info >= (3, 11):
    from typing import NotRequired, TypedDict
else:
    from typing_extensions import NotRequired, TypedDict

__all__ = [
${names.map((name) => `    "${name}",`).join('\n')}
]

Amount = str | int | Decimal


${text}
`
}

function operationsText(operations: readonly SdkOperation[], amounts: readonly string[]): string {
  return `
from __future__ import annotations

from typing import Final

from ._operation import Operation

AMOUNT_FIELDS: Final = frozenset(
    {
${amounts.map((name) => `        "${name}",`).join('\n')}
    }
)
"""The fields of request bodies that are amounts."""

OPERATIONS: Final[dict[str, Operation]] = {
${operations.map(factsText).join('\n')}
}
"""The operations of openapi.yaml, by their id."""
`
}

function factsText({ id, rules, method, path, status, mediaType }: SdkOperation): string {
  const { retry, page, made } = rules
  const facts = [
    `id="${id}"`,
    `method="${method}"`,
    `path="${path}"`,
    `status=${status}`,
    `media_type="${mediaType}"`,
    `retry="${retry}"`,
    ...(page === undefined ? [] : [`cursor="${page}"`]),
    ...(made === undefined ? [] : [`made="${made}"`]),
  ]
  return `    "${id}": Operation(\n${facts.map((fact) => `        ${fact},`).join('\n')}\n    ),`
}

function resourcesText({ operations, types }: Read): string {
  const groups = [...byResource(operations)]
  const used = new Set(
    [...types.ofOperation.values()]
      .flatMap(({ query, body, answer }) => [query, body, answer])
      .filter((name) => name !== undefined && types.names.includes(name)),
  )
  const classesOf = (isAsync: boolean) =>
    groups.map(([resource, methods]) => resourceText(resource, methods, types, isAsync)).join('\n\n\n')
  return `
from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from ._operations_gen import OPERATIONS

if TYPE_CHECKING:
    if sys.version_info >= (3, 11):
        from typing import Unpack
    else:
        from typing_extensions import Unpack

    from ._async_call import AsyncCall
    from ._call import Call
    from ._options import CallOptions
    from ._pages import AsyncPages, Pages
    from ._types_gen import (
${[...used]
  .sort()
  .map((name) => `        ${name ?? ''},`)
  .join('\n')}
    )


${classesOf(false)}


${allText(groups, false)}


${classesOf(true)}


${allText(groups, true)}
`
}

type Groups = readonly (readonly [string, readonly SdkOperation[]])[]

function allText(groups: Groups, isAsync: boolean): string {
  const [prefix, call] = isAsync ? ['Async', 'AsyncCall'] : ['', 'Call']
  const fields = groups.map(
    ([resource]) => `        self.${snakeCase(resource)} = ${prefix}${typeName(resource)}Resource(call)`,
  )
  return `class ${prefix}Resources:
    """The methods of a client, by resource."""

    def __init__(self, call: ${call}) -> None:
${fields.join('\n')}`
}

function resourceText(
  resource: string,
  operations: readonly SdkOperation[],
  { ofOperation }: PythonTypesText,
  isAsync: boolean,
): string {
  const methods = operations.map((operation) => {
    const types = ofOperation.get(operation.id)
    if (types === undefined) throw new RangeError(`${operation.id} has no types`)
    return methodText(operation, types, isAsync)
  })
  const [prefix, call] = isAsync ? ['Async', 'AsyncCall'] : ['', 'Call']
  return `class ${prefix}${typeName(resource)}Resource:
    def __init__(self, call: ${call}) -> None:
        self._call = call

${methods.join('\n\n')}`
}

function methodText(operation: SdkOperation, { query, body, answer }: PythonTypes, isAsync: boolean): string {
  const { id, name, rules, pathParameters } = operation
  const parameter = (kind: 'query' | 'body', type: string) =>
    operation[kind] === 'required' ? `${kind}: ${type}` : `${kind}: ${type} | None = None`
  const parameters = [
    'self',
    ...pathParameters.map((one) => `${one}: str`),
    ...(query === undefined ? [] : [parameter('query', query)]),
    ...(body === undefined ? [] : [parameter('body', body)]),
    '**options: Unpack[CallOptions]',
  ]
  const tuple = pathParameters.map((one) => `${one},`).join(' ')
  const values = [`OPERATIONS["${id}"]`, `(${pathParameters.length === 1 ? tuple : tuple.replace(/,$/, '')})`]
  values.push(query === undefined ? 'None' : 'query')
  const hasPages = rules.page !== undefined
  if (!hasPages) values.push(body === undefined ? 'None' : 'body')
  const call = `self._call.${hasPages ? 'pages' : 'one'}(${[...values, 'options'].join(', ')})`
  const pages = `${isAsync ? 'Async' : ''}Pages[${answer}]`
  const result = hasPages ? pages : answer
  const returned = hasPages ? call : `cast("${answer}", ${isAsync ? `await ${call}` : call})`
  return `    ${isAsync && !hasPages ? 'async ' : ''}def ${snakeCase(name)}(
${parameters.map((one) => `        ${one},`).join('\n')}
    ) -> ${result}:
        """${commentOf(operation)}"""
        return ${returned}`
}

function commentOf({ summary, method, path, permissions }: SdkOperation): string {
  const coded = permissions.map((one) => `\`${one}\``)
  const needs = coded.length === 0 ? 'No key is needed' : `Needs ${coded.join(' or ')}`
  return `${summary}. \`${method} ${path}\`\n\n        ${needs}.\n        `
}

const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
