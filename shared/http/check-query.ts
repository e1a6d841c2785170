import type { RequestHandler } from 'express'
import { faultDescriber } from './describe-fault.ts'
import { HttpError } from './http-error.ts'
import type { OpenApiDocument, Operation } from './openapi-document.ts'
import { memberSchema, requestSchema } from './request-schema.ts'

/** A whole number in a query. A double represents a number of up to 15 digits exactly. */
const WHOLE_NUMBER = /^-?\d{1,15}$/

/**
 * Refuses a query that the validator would misread. Each parameter must be one of the operation's, must be given once,
 * and must not be empty. Whole numbers must be written in digits.
 *
 * Why before the validator: express-openapi-validator always coerces the text of a query, and Ajv's coercion accepts
 * whatever JavaScript reads as a number. `Infinity` and `1e999` then pass `maximum` and `minimum`
 * (https://github.com/ajv-validator/ajv/issues/2212), a blank becomes 0, and `0x1`, `1e1` and `5.0` are accepted, too.
 * The validator also accepts `name[]=1` for `name`.
 */
export function checkQuery(document: OpenApiDocument, operation: Operation): RequestHandler {
  const describe = faultDescriber(document, operation)
  const schema = requestSchema(document, operation, 'query') ?? {}
  const names = new Set(Object.keys(schema.properties ?? {}))
  const wholeNumbers = new Set(
    [...names].filter((name) => memberSchema(document, schema, name)?.type === 'integer'),
  )
  return (req, _res, next) => {
    for (const [name, value] of Object.entries(req.query)) {
      if (!names.has(name)) throw new HttpError(400, `${name}: is not a parameter of this request`)
      if (typeof value !== 'string') throw new HttpError(400, `${name}: must not be given more than once`)
      if (value === '') throw new HttpError(400, `${name}: must not be empty`)
      if (wholeNumbers.has(name) && !WHOLE_NUMBER.test(value))
        throw new HttpError(400, describe({ path: `/query/${name}`, keyword: 'type', message: '' }, req))
    }
    next()
  }
}
