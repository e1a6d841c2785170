import { expect } from 'chai'
import { asHandled, type Described } from '../../../tools/generate/as-handled.ts'

const FIELDS = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', description: 'Left out.' },
    unit: { type: ['string', 'null'], default: '' },
    note: { anyOf: [{ $ref: '#/components/schemas/Note' }, { type: 'null' }] },
    ends: { type: ['integer', 'null'], 'x-null-is-a-value': true },
    // A property with the name of a keyword.
    properties: {
      type: 'array',
      items: { type: 'object', properties: { kind: { type: 'string', default: 'a' } } },
    },
  },
}

const documentOf = (method: string): Described => ({
  openapi: '3.1.0',
  info: { title: 'a test', version: '1' },
  paths: {
    '/things': {
      [method]: {
        operationId: 'thing',
        parameters: [
          { $ref: '#/components/parameters/Limit' },
          { name: 'after', in: 'query', schema: { type: 'string' } },
          { name: 'Idempotency-Key', in: 'header', schema: { type: 'string' } },
        ],
        requestBody: { required: true, content: { 'application/json': { schema: FIELDS } } },
      },
    },
  },
  components: {
    parameters: { Limit: { name: 'limit', in: 'query', schema: { type: 'integer', default: 10 } } },
    schemas: { Note: { type: 'string', maxLength: 10 } },
  },
})

const handled = (method: string) => asHandled(documentOf(method)).paths['/things']?.[method]
const fieldsOf = (method: string) => {
  const { content } = handled(method)?.requestBody as { content: Record<string, { schema: typeof FIELDS }> }
  return content['application/json']?.schema
}

describe('requests as handlers get them', () => {
  it('have parameters with a default always, and no headers', () => {
    expect(handled('get')?.parameters).to.deep.equal([
      { name: 'limit', in: 'query', schema: { type: 'integer', default: 10 }, required: true },
      { name: 'after', in: 'query', schema: { type: 'string' } },
    ])
  })

  it('have fields with a default always, and in a POST null alone where it says something', () => {
    const fields = fieldsOf('post')
    expect(fields?.required).to.deep.equal(['name', 'unit'])
    expect(fields?.properties).to.deep.include({
      name: { type: 'string' },
      unit: { type: ['string'], default: '' },
      note: { anyOf: [{ type: 'string', maxLength: 10 }] },
      ends: { type: ['integer', 'null'], 'x-null-is-a-value': true },
    })
    expect(fields?.properties.properties.items).to.deep.include({ required: ['kind'] })
  })

  it('have null in a PATCH, where it clears a field', () => {
    expect(fieldsOf('patch')?.properties).to.deep.include({
      unit: { type: ['string', 'null'], default: '' },
      note: { anyOf: [{ type: 'string', maxLength: 10 }, { type: 'null' }] },
    })
  })
})
