import type { IncomingHttpHeaders } from 'node:http'
import { expect } from 'chai'
import { digestOfApiKey, newApiKey } from '../../../shared/domain/api-key.ts'
import { findCallerOf } from '../../../shared/http/authentication.ts'
import { readOpenApiDocument } from '../../../shared/http/openapi-document.ts'

const KEY = newApiKey('live')
const OTHER = newApiKey('live')

/** The key that is looked up for a request with these headers. */
function lookedUp(headers: IncomingHttpHeaders): 'KEY' | 'OTHER' | undefined {
  let found: 'KEY' | 'OTHER' | undefined
  void findCallerOf({ headers }, (digest) => {
    if (digest.equals(digestOfApiKey(KEY))) found = 'KEY'
    else if (digest.equals(digestOfApiKey(OTHER))) found = 'OTHER'
    return undefined
  })
  return found
}

describe('the key of a request', () => {
  it('is in x-api-key, or in Authorization as a bearer token', () => {
    for (const headers of [
      { 'x-api-key': KEY },
      { authorization: `Bearer ${KEY}` },
      { authorization: `bearer ${KEY}` },
      { authorization: `BEARER  ${KEY}` },
      // Other schemes are those of a proxy in front of Tally.
      { 'x-api-key': KEY, authorization: 'Basic dTpw' },
      { 'x-api-key': KEY, authorization: 'Bearerless' },
    ])
      expect(lookedUp(headers), JSON.stringify(headers)).to.equal('KEY')
  })

  it('is none when both headers have one, whether they are equal or not', () => {
    for (const headers of [
      { 'x-api-key': KEY, authorization: `Bearer ${KEY}` },
      { 'x-api-key': KEY, authorization: `Bearer ${OTHER}` },
      { 'x-api-key': KEY, authorization: 'Bearer x' },
      { 'x-api-key': KEY, authorization: 'Bearer ' },
      { 'x-api-key': '', authorization: `Bearer ${KEY}` },
    ])
      expect(lookedUp(headers), JSON.stringify(headers)).to.equal(undefined)
  })

  it('is none in any other form', () => {
    for (const headers of [
      {},
      { authorization: KEY },
      { authorization: `Basic ${KEY}` },
      { authorization: `Bearer ${KEY}, Bearer ${OTHER}` },
      { authorization: `Bearer ${KEY} ` },
      { authorization: `Bearer${KEY}` },
      { 'x-api-key': `Bearer ${KEY}` },
    ])
      expect(lookedUp(headers), JSON.stringify(headers)).to.equal(undefined)
  })

  it('has the same permissions in openapi.yaml in either header', () => {
    type Requirement = Partial<Record<'ApiKey' | 'Bearer', string[]>>
    const document = readOpenApiDocument() as unknown as {
      security: Requirement[]
      paths: Record<string, Record<string, { operationId: string; security?: Requirement[] }>>
    }
    const operations = Object.values(document.paths).flatMap((path) => Object.values(path))
    for (const { operationId, security } of [{ operationId: 'the default', ...document }, ...operations]) {
      const of = (scheme: 'ApiKey' | 'Bearer') =>
        (security ?? []).flatMap((requirement) => requirement[scheme] ?? [])
      expect(of('Bearer'), operationId).to.deep.equal(of('ApiKey'))
      for (const requirement of security ?? []) expect(Object.keys(requirement)).to.have.length(1)
    }
  })
})
