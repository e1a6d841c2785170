import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../shared/config/project-root.ts'
import { readOpenApiDocument } from '../shared/http/openapi-document.ts'

const AREA = /^ +# ([\w ]+?) -+$/
const OF_ALL = 'Of all areas'

describe('openapi.yaml', () => {
  it('is in order of its areas: each path below the name of its tag, each schema below one', async () => {
    const text = await readFile(path.join(PROJECT_ROOT, 'openapi.yaml'), 'utf8')
    const { tags, paths } = readOpenApiDocument() as unknown as {
      tags: { name: string }[]
      paths: Record<string, Record<string, { tags: string[] }>>
    }
    const [ofPaths = '', ofSchemas = ''] = text.slice(text.indexOf('\npaths:\n')).split('\n  schemas:\n')
    const names = tags.map(({ name }) => name)
    const found = areasOf(ofPaths, /^ {2}(\/.*):$/)
    expect([...found.keys()]).to.deep.equal(names)
    const meant = names.map((name): [string, string[]] => [
      name,
      Object.keys(paths).filter((place) => Object.values(paths[place] ?? {})[0]?.tags[0] === name),
    ])
    expect([...found]).to.deep.equal(meant)
    const schemas = areasOf(ofSchemas, /^ {4}(\w+):$/)
    expect([OF_ALL, ...names]).to.include.members([...schemas.keys()])
    for (const [area, held] of schemas) expect(held, area).not.to.deep.equal([])
  })

  it('has a name for every object that is asked with or answered: clients are generated from those', () => {
    const { paths, components } = readOpenApiDocument() as unknown as Described
    const unnamed: string[] = []
    for (const { operationId, requestBody, responses } of Object.values(paths).flatMap((path) =>
      Object.values(path),
    )) {
      const parts = Object.entries(responses).map(([status, part]) => [status, resolved(components, part)])
      for (const [where, part] of [...parts, ['the body', requestBody]] as [string, Part | undefined][])
        for (const { schema } of Object.values(part?.content ?? {}))
          if (schema.$ref === undefined && schema.type !== 'string') unnamed.push(`${operationId}: ${where}`)
    }
    expect(unnamed).to.deep.equal([])
  })

  it('refers to whole components alone: what is within one has no name that generators could give it', () => {
    const references = [...JSON.stringify(readOpenApiDocument()).matchAll(/"\$ref":"([^"]+)"/g)].map(
      ([, to]) => to,
    )
    expect(references).to.have.length.above(100)
    expect(references.filter((to) => !/^#\/components\/\w+\/\w+$/.test(to ?? ''))).to.deep.equal([])
  })

  it('says of times and counts that they may take 64 bits: generators take 32 for an integer', () => {
    const seen: string[] = []
    const narrow: string[] = []
    const look = (value: unknown, name: string): void => {
      if (typeof value !== 'object' || value === null) return
      const { type = [], format, maximum = 0 } = value as { type?: string; format?: string; maximum?: number }
      const isWide = maximum > 2 ** 31 - 1 || /(_at|_count|^UnixTimestamp|^PeriodEnd)$/.test(name)
      if ([type].flat().includes('integer') && isWide) {
        seen.push(name)
        if (format !== 'int64') narrow.push(name)
      }
      for (const [key, inner] of Object.entries(value)) look(inner, key)
    }
    look(readOpenApiDocument(), '')
    expect(seen).to.include.members(['UnixTimestamp', 'archived_at', 'event_count', 'seed'])
    expect(narrow).to.deep.equal([])
  })

  it('says for every choice of objects which field tells them apart', () => {
    const text = JSON.stringify(readOpenApiDocument())
    const choices: string[] = []
    JSON.parse(text, (_key, value: unknown) => {
      if (typeof value === 'object' && value !== null && 'oneOf' in value && !('discriminator' in value))
        choices.push(JSON.stringify(value))
      return value
    })
    expect(text).to.contain('"oneOf"')
    expect(choices).to.deep.equal([])
  })
})

interface Part {
  $ref?: string
  content?: Record<string, { schema: { $ref?: string; type?: string } }>
}

interface Described {
  paths: Record<
    string,
    Record<string, { operationId: string; requestBody?: Part; responses: Record<string, Part> }>
  >
  components: { responses: Record<string, Part> }
}

const resolved = ({ responses }: Described['components'], part: Part): Part | undefined =>
  part.$ref === undefined ? part : responses[part.$ref.split('/').at(-1) ?? '']

/** The entries below the name of each area. @throws AssertionError when an entry is above the first name */
function areasOf(text: string, entry: RegExp): Map<string, string[]> {
  const areas = new Map<string, string[]>()
  let area: string | undefined
  for (const line of text.split('\n')) {
    area = AREA.exec(line)?.[1] ?? area
    const [, name] = entry.exec(line) ?? []
    if (area !== undefined && !areas.has(area)) areas.set(area, [])
    if (name === undefined) continue
    expect(area, name).to.be.a('string')
    areas.get(area ?? '')?.push(name)
  }
  return areas
}
