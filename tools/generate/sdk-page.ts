import { readOpenApiDocument } from '../../shared/http/openapi-document.ts'
import { pageMaker, type Table } from './page.ts'
import { readSdkOperations, SDK_OPERATIONS_SOURCES, type SdkOperation } from './sdk-operations.ts'

/** The page of the methods of the clients. */
export const sdkPage = pageMaker({
  name: 'reference/sdk.md',
  sources: [...SDK_OPERATIONS_SOURCES, 'tools/generate/sdk-page.ts'],
  tables: () => Promise.resolve({ methods: methodsTable(readSdkOperations(readOpenApiDocument())) }),
})

const methodsTable = (operations: readonly SdkOperation[]): Table => [
  ['Method', 'Operation', 'What it does', 'Sent again'],
  ...operations.map((operation) => [
    `\`${operation.resource}.${operation.name}\``,
    `\`${operation.method} ${operation.path}\``,
    operation.summary,
    operation.rules.retry,
  ]),
]
