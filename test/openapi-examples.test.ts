import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { readOpenApiDocument } from '../shared/http/openapi-document.ts'

interface Content {
  schema: object
  example?: unknown
}

interface Operation {
  operationId: string
  parameters?: { name: string; schema: object; example?: unknown }[]
  responses: Record<string, { content?: Record<string, Content> }>
}

describe('examples in openapi.yaml', () => {
  const document = readOpenApiDocument() as unknown as {
    paths: Record<string, Record<string, Operation>>
    components: object
  }
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  for (const format of ['amount', 'int64']) ajv.addFormat(format, true)
  ajv.addSchema({ $id: 'openapi', components: document.components })

  const expectValid = (schema: object, example: unknown, where: string) => {
    const text = JSON.stringify(schema).replaceAll('"#/components/', '"openapi#/components/')
    const validate = ajv.compile(JSON.parse(text) as object)
    expect(validate(example), `${where}: ${ajv.errorsText(validate.errors)}`).to.equal(true)
  }

  it('are what their schemas say', () => {
    let seen = 0
    for (const operation of Object.values(document.paths).flatMap((item) => Object.values(item))) {
      const { operationId, parameters = [], responses } = operation
      for (const { name, schema, example } of parameters)
        if (example !== undefined) expectValid(schema, example, `${operationId} ${name}`)
      for (const [status, { content = {} }] of Object.entries(responses))
        for (const { schema, example } of Object.values(content)) {
          if (example === undefined) continue
          expectValid(schema, example, `${operationId} ${status}`)
          seen++
        }
    }
    expect(seen).to.be.greaterThan(0)
  })
})
