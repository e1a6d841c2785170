import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { OPERATIONS } from '../../clients/operations.ts'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { listOperations, readOpenApiDocument, type Schema } from '../../shared/http/openapi-document.ts'
import { listAmountFields, readSdkOperations } from '../../tools/generate/sdk-operations.ts'

describe('the packages of the clients', () => {
  it('have one version, in all languages', async () => {
    const versionIn = async (file: string, pattern: RegExp) =>
      pattern.exec(await readFile(path.join(PROJECT_ROOT, file), 'utf8'))?.[1] ?? `${file} has none`
    const inJson = /^ {2}"version": "(.+)",$/m
    const version = await versionIn('package.json', inJson)
    expect(await versionIn('clients/sdk/package.json', inJson)).to.equal(version)
    expect(await versionIn('clients/cli/package.json', inJson)).to.equal(version)
    expect(await versionIn('clients/python/pyproject.toml', /^version = "(.+)"$/m)).to.equal(version)
  })
})

describe('the operations of the clients', () => {
  const document = readOpenApiDocument()
  const isInternal = (path: string, method: string) =>
    (document.paths[path]?.[method] as unknown as { 'x-internal'?: true })['x-internal'] === true

  it('are those of openapi.yaml, without its aliases', () => {
    const described = listOperations(document).filter(({ path, method }) => !isInternal(path, method))
    expect(Object.keys(OPERATIONS)).to.have.members(described.map(({ operationId }) => operationId))
  })

  it('have names that differ', () => {
    const names = Object.values(OPERATIONS).map(([resource, method]) => `${resource}.${method}`)
    expect(new Set(names).size).to.equal(names.length)
  })

  it('get what a keyed request made, by the ids of that resource', () => {
    const operations = new Map(readSdkOperations(document).map((one) => [one.id, one]))
    for (const { id, path, rules } of operations.values()) {
      if (rules.made === undefined) continue
      const made = operations.get(rules.made)
      expect(made?.method, id).to.equal('GET')
      expect(path.startsWith(made?.path.split('/{')[0] ?? 'none'), id).to.equal(true)
    }
  })

  it('have a cursor exactly where a GET answers with a page, and its items have it', () => {
    const schemas = document.components.schemas as Record<string, Schema>
    const schemaOf = (schema: Schema | undefined) =>
      schema?.$ref === undefined ? schema : schemas[schema.$ref.split('/').pop() ?? '']
    for (const { id, path, method, status, rules } of readSdkOperations(document)) {
      const answer = document.paths[path]?.[method.toLowerCase()]?.responses[status] as {
        content?: Record<string, { schema: Schema }>
      }
      const page = schemaOf(answer.content?.['application/json']?.schema)
      // The cursor of a simulation is in the body of its POST.
      const isList = method === 'GET' && page?.properties?.['has_more'] !== undefined
      expect(rules.page !== undefined, id).to.equal(isList)
      if (rules.page === undefined) continue
      const { oneOf = [], properties } = schemaOf(page?.properties?.['data']?.items) ?? {}
      const kinds = properties === undefined ? oneOf.map(schemaOf) : [{ properties }]
      const fields = rules.page === 'refill_key' ? ['account_id', 'metric_id'] : [rules.page]
      expect(kinds, id).to.have.length.above(0)
      for (const kind of kinds) expect(Object.keys(kind?.properties ?? {}), id).to.include.members(fields)
    }
  })

  it('know all amounts by their names', () => {
    expect(listAmountFields(document)).to.include.members(['amount', 'quantity', 'unit_amount', 'up_to'])
  })

  it('do not mistake a field for an amount that is one in another request only', () => {
    const changed = readOpenApiDocument()
    changed.components.schemas['NewAccount'] = {
      ...changed.components.schemas['NewAccount'],
      properties: { quantity: { type: 'integer' } },
    }
    expect(() => listAmountFields(changed)).to.throw('quantity: an amount in one request, not in another')
  })
})
