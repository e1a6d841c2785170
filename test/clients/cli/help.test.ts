import { expect } from 'chai'
import { OPERATIONS as ROWS } from '../../../clients/operations.ts'
import { listOperations, readOpenApiDocument, type Schema } from '../../../shared/http/openapi-document.ts'
import { runTally } from './run-tally.ts'

const word = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

describe('the help of tally', () => {
  const document = readOpenApiDocument()

  const resolve = <T extends object>(object: T): T => {
    if (!('$ref' in object) || typeof object.$ref !== 'string') return object
    const names = object.$ref.replace('#/', '').split('/')
    return names.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], document) as T
  }

  /** All fields of a body, of each of its forms. */
  const bodyFields = (given: Schema | undefined): string[] => {
    const { properties = {}, oneOf = [] } = resolve(given ?? {})
    return [...Object.keys(properties), ...oneOf.flatMap(bodyFields)]
  }

  it('lists all commands', async () => {
    const { code, out, err } = await runTally(['--help'])
    expect(code).to.equal(0)
    expect(err).to.equal('')
    const names = ['login', 'logout', 'profiles', 'balance', 'usage', 'report', 'api', 'import', 'export']
    for (const name of [...names, ...Object.values(ROWS).map(([resource]) => word(resource))])
      expect(out, name).to.match(new RegExp(`^  ${name} `, 'm'))
  })

  it('shows each parameter and field of openapi.yaml as an option of its command', async () => {
    let options = 0
    for (const { operationId, path, method } of listOperations(document)) {
      const row = Object.entries(ROWS).find(([id]) => id === operationId)?.[1]
      if (row === undefined) continue
      const described = document.paths[path]?.[method]
      const query = (described?.parameters ?? []).map(resolve).filter((one) => one.in === 'query')
      const body = bodyFields(
        resolve(described?.requestBody ?? { content: {} }).content['application/json']?.schema,
      )
      const { code, out } = await runTally([word(row[0]), word(row[1]), '--help'])
      expect(code, operationId).to.equal(0)
      expect(out).to.include(operationId)
      for (const name of [...query.map((one) => one.name), ...body]) {
        expect(out, operationId).to.match(new RegExp(`^  --${name.replaceAll('_', '-')} <`, 'm'))
        options++
      }
      for (const [, name = ''] of path.matchAll(/\{(\w+)\}/g)) expect(out).to.include(` <${name}>`)
    }
    expect(options).to.be.above(200)
  })

  it('is there for every other command, and takes no key as an option', async () => {
    const inner = ['status', 'drain', 'rejected', 'retry-rejected'].map((name) => `reporter ${name}`)
    for (const name of [
      'login',
      'logout',
      'profiles',
      'balance',
      'usage',
      'report',
      'api',
      'reporter',
      ...inner,
    ]) {
      const { code, out } = await runTally([...name.split(' '), '--help'])
      expect(code, name).to.equal(0)
      expect(out, name).to.include(`Usage: tally ${name}`).and.include('--profile <name>')
      expect(out, name).not.to.match(/--(api|secret)-?key/)
    }
  })

  it('is that of the program for commands that are handed on', async () => {
    for (const name of ['import', 'simulate', 'preview', 'simulate-prices', 'export']) {
      const { code, out } = await runTally([name, '--help'])
      expect(code, name).to.equal(0)
      expect(out, name)
        .to.match(new RegExp(`^usage: tally ${name} `, 'm'))
        .and.not.to.contain('npm run')
    }
  })

  it('is not wider than the terminal', async () => {
    for (const args of [['--help'], ['grants', 'create', '--help'], ['report', '--help']]) {
      const { out } = await runTally(args, { columns: 80 })
      for (const line of out.split('\n')) expect(line.length, line).to.be.at.most(80)
    }
  })

  it('lists all operations for api, with their commands', async () => {
    const { out } = await runTally(['api'])
    const rows = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, string>)
    expect(rows.map((row) => row['operation'])).to.have.members(Object.keys(ROWS))
    expect(rows).to.deep.include({
      operation: 'getAccountDailyBalance',
      command: 'accounts balance-daily',
      route: 'GET /v2/accounts/{account_id}/balance/daily',
    })
  })
})
