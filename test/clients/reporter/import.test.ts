import { randomBytes } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { type FaultyProxy, faultyProxy } from '../../support/faulty-proxy.ts'
import { type RunningTally, startTally } from '../../support/start-tally.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'
import { importWith, type RunOptions } from '../core/run-program.ts'
import { askJson, usageOf } from './tally-answers.ts'

const AT = Math.floor(Date.now() / 1_000) - 86_400

describe('import', () => {
  let tally: RunningTally
  let folder: string

  before(async function () {
    this.timeout(60_000)
    // Why a separate Tally: an import finds key and address in its data folder.
    tally = await startTally()
    folder = await makeTempFolder('import')
    await writeFile(path.join(folder, 'key'), `${tally.key}\n`)
  })
  after(async () => {
    await tally.discard()
    await rm(folder, { recursive: true })
  })

  const where = () => ['--url', tally.url, '--key-file', path.join(folder, 'key')]
  const run = (args: string[], options?: RunOptions) => importWith([...where(), ...args], options)
  const newName = (what: string) => `${what}-${randomBytes(4).toString('hex')}`

  const fileWith = async (text: string | Buffer, name = newName('usage') + '.csv'): Promise<string> => {
    const file = path.join(folder, name)
    await mkdir(path.dirname(file), { recursive: true })
    await writeFile(file, text)
    return file
  }

  const TOKENS = ['--time', 'at', '--quantity', 'tokens=tokens']

  it('reports each quantity of each line, and says what it did', async () => {
    // given
    const account = newName('acme')
    const file = await fileWith(
      `at,in,out,cost\n${AT},10,1,0.000000000000000001\n${AT + 1},20,2,12345678901234567890\n`,
    )
    // when
    const quantities = ['in=in', 'out=out', 'cost=currency:USD'].flatMap((pair) => ['--quantity', pair])
    const { code, out, err } = await run([
      '--file',
      file,
      '--time',
      'at',
      ...quantities,
      '--account',
      account,
      '--create',
    ])
    // then
    expect({ code, err }).to.deep.equal({ code: 0, err: '' })
    expect(out).to.match(/lines read +2\nevents sent +6\nbad lines +0\n/)
    expect(await usageOf(tally, account)).to.deep.equal({
      in: '30/2',
      out: '3/2',
      usd: '12345678901234567890.000000000000000001/2',
    })
  })

  it('changes nothing when it runs again: renamed, reordered, with other line ends, or through a pipe', async () => {
    const account = newName('acme')
    const lines = Array.from({ length: 300 }, (_, n) => `${AT + (n % 7)},${n % 5}`) // with many equal ones
    const csv = (all: string[], eol: string) => ['at,tokens', ...all].join(eol)
    const to = [...TOKENS, '--account', account, '--create']
    const expected = { tokens: `${300 * 2}/300` }

    await run(['--file', await fileWith(csv(lines, '\n')), ...to, '--batch-size', '7'])
    expect(await usageOf(tally, account)).to.deep.equal(expected)
    const again = await run(['--file', await fileWith(csv(lines.toReversed(), '\r\n') + '\r\n'), ...to])
    expect(again.out).to.match(/events sent +300\n/)
    expect(again.out).to.contain('equal to an earlier line')
    const piped = ['--file', '-', '--format', 'csv', ...to]
    await run(piped, { input: `\uFEFF${csv(lines, '\n')}` })
    await run(
      [
        '--file',
        '-',
        '--format',
        'csv',
        '--no-header',
        '--time',
        '1',
        '--quantity',
        '2=tokens',
        '--account',
        account,
      ],
      {
        input: lines.join('\n'),
      },
    )
    expect(await usageOf(tally, account)).to.deep.equal(expected)

    // with another source the lines are other usage
    await run([...piped, '--source', 'other machine'], { input: csv(lines, '\n') })
    expect(await usageOf(tally, account)).to.deep.equal({ tokens: `${600 * 2}/600` })
  })

  it('adds up to what a plain loop adds up to, for any file and any batches', async function () {
    this.timeout(120_000)
    const metric = newName('metric')
    const line = fc.record({
      account: fc.constantFrom('a', 'b', 'ç, "d"'),
      at: fc.integer({ min: AT, max: AT + 2 }),
      units: fc.bigInt({ min: -(10n ** 6n), max: 10n ** 6n }),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { maxLength: 40 }),
        fc.integer({ min: 1, max: 10 }),
        fc.integer({ min: 1, max: 4 }),
        async (lines, batchSize, inFlight) => {
          const prefix = newName('')
          const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
          const csv = ['account,at,tokens']
          const sums = new Map<string, { sum: bigint; count: number }>()
          for (const { account, at, units } of lines) {
            csv.push(`${quoted(prefix + account)},${at},${units.toString()}e-3`)
            const { sum, count } = sums.get(account) ?? { sum: 0n, count: 0 }
            sums.set(account, { sum: sum + units, count: count + 1 })
          }
          const args = [
            '--time',
            'at',
            '--quantity',
            `tokens=${metric}`,
            '--account-column',
            'account',
            '--create',
          ]
          const sizes = [
            '--batch-size',
            String(batchSize),
            '--in-flight',
            String(inFlight),
            '--allow-exponents',
          ]
          const file = ['--file', await fileWith(csv.join('\n'))]
          expect(await run([...file, ...args, ...sizes])).to.include({ code: 0, err: '' })
          for (const [account, { sum, count }] of sums) {
            const [total = '', events] = (await usageOf(tally, prefix + account))[metric]?.split('/') ?? []
            expect(thousandthsOf(total)).to.equal(sum)
            expect(events).to.equal(String(count))
          }
        },
      ),
      { numRuns: 8 },
    )
  })

  it('keeps times to the second and properties as they are, quoted line ends included', async () => {
    const account = newName('acme')
    const proxy = await faultyProxy(tally.url, () => 'pass')
    const iso = new Date(AT * 1_000).toISOString().replace('T', ' ').replace('.000Z', '.9799600')
    const csv = `at,tokens,model,note\r\n${iso},5,large,"two\r\nlines, ""quoted"""\r\n${iso},1,,\r\n`
    const properties = ['--property', 'model', '--property', 'note=remark']
    await run([
      '--file',
      await fileWith(csv),
      ...TOKENS,
      '--account',
      account,
      '--create',
      ...properties,
      '--url',
      proxy.url,
    ])
    await proxy.close()
    expect(eventsIn(proxy).map(({ occurred_at: at, properties: kept }) => [at, kept])).to.deep.equal([
      [AT, { model: 'large', remark: 'two\r\nlines, "quoted"' }],
      [AT, {}],
    ])
    expect(await usageOf(tally, account)).to.deep.equal({ tokens: '6/2' })
  })

  it('takes NDJSON with an account in each line, and exact numbers', async () => {
    const account = newName('acme')
    const lines = [
      { customer: account, at: AT * 1_000, cost: 5e-7, region: { zone: 'eu' } },
      { customer: account, at: AT * 1_000 + 999, cost: '1.10' },
      { customer: account, at: AT * 1_000, cost: null },
    ].map((line) => JSON.stringify(line))
    lines.push(`{"customer":"${account}","at":${AT}000,"cost":0.123456789012345678}`)
    const file = await fileWith(lines.join('\r\n'), newName('usage') + '.ndjson')
    const args = [
      '--time',
      'at',
      '--time-format',
      'unix-ms',
      '--quantity',
      'cost=currency:eur',
      '--property',
      'region',
    ]
    const { code, out } = await run(['--file', file, ...args, '--account-column', 'customer', '--create'])
    expect(code).to.equal(0)
    expect(out).to.contain('empty quantities, not sent  1')
    expect(await usageOf(tally, account)).to.deep.equal({ eur: '1.223457289012345678/3' })
  })

  it('names bad lines and reports the others; the exit code tells', async () => {
    const account = newName('acme')
    const csv = [
      'at,tokens',
      `${AT},1`,
      `${AT},"1,234"`,
      'yesterday,3',
      `${AT}`,
      `${AT},5`,
      '1000000000,6',
      `${AT},7`,
    ]
    const { code, out, err } = await run([
      '--file',
      await fileWith(csv.join('\n')),
      ...TOKENS,
      '--account',
      account,
      '--create',
    ])
    expect(code).to.equal(1)
    expect(out).to.match(/lines read +7\nevents sent +3\nbad lines +4\n/)
    const named = err.split('\n').map((line) => line.slice(0, 40))
    expect(named).to.deep.equal([
      'bad line 3: tokens: "1,234" has separato',
      'bad line 4: at: "yesterday" is not a tim',
      'bad line 5: has 1 cells where there shou',
      'bad line 7: Tally refuses it: occurred_a',
      '',
    ])
    expect(await usageOf(tally, account)).to.deep.equal({ tokens: '13/3' })
  })

  it('sends the rest of a batch that Tally refuses in parts, and names each line once', async () => {
    const account = newName('acme')
    const old = (n: number) => n % 3 === 0 // more wrong events than one answer names
    const csv = [
      'at,in,out',
      ...Array.from({ length: 200 }, (_, n) => `${old(n) ? 1_000_000_000 : AT},1,${n}`),
    ]
    const quantities = ['--quantity', 'in=in', '--quantity', 'out=out']
    const { code, err } = await run([
      '--file',
      await fileWith(csv.join('\n')),
      '--time',
      'at',
      ...quantities,
      '--account',
      account,
      '--create',
    ])
    expect(code).to.equal(1)
    const named = err
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => Number(/^bad line (\d+): Tally/.exec(line)?.[1]))
    expect(named).to.have.members(
      Array.from({ length: 200 }, (_, n) => n)
        .filter(old)
        .map((n) => n + 2),
    )
    const sum = Array.from({ length: 200 }, (_, n) => (old(n) ? 0 : n)).reduce((a, b) => a + b)
    expect(await usageOf(tally, account)).to.deep.equal({ in: '133/133', out: `${sum}/133` })
  })

  it('stops at the first bad line when it is strict, with what stands before it sent', async () => {
    const account = newName('acme')
    const csv = ['at,tokens', ...Array.from({ length: 50 }, () => `${AT},1`), `${AT},x`, `${AT},1`]
    const { code, out } = await run([
      '--file',
      await fileWith(csv.join('\n')),
      ...TOKENS,
      '--account',
      account,
      '--create',
      '--strict',
      '--batch-size',
      '8',
    ])
    expect(code).to.equal(1)
    expect(out).to.match(/lines read +51\n/)
    expect(await usageOf(tally, account)).to.deep.equal({ tokens: '50/50' })
  })

  it('finds the metrics that it made by their external ids, whatever they are called now', async () => {
    const metric = newName('metric')
    const csv = await fileWith(`at,tokens\n${AT},1\n`)
    const args = ['--file', csv, '--time', 'at', '--quantity', `tokens=${metric}`]
    const first = await Promise.all(
      ['a', 'b'].map((name) => run([...args, '--account', newName(name), '--create'])),
    )
    expect(first.map(({ code }) => code)).to.deep.equal([0, 0])
    const target = `/v2/metrics/external-id/${metric}`
    const { id, name } = await askJson<{ id: string; name: string }>(tally, target)
    expect(name).to.equal(metric)
    const renamed = await fetch(`${tally.url}/v2/metrics/${id}`, {
      method: 'PATCH',
      headers: { 'x-api-key': tally.key, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'another name' }),
    })
    expect(renamed.status).to.equal(200)
    expect(await run([...args, '--account', newName('c'), '--create'])).to.include({ code: 0, err: '' })
  })

  it('makes nothing that it is not told to make', async () => {
    const csv = await fileWith(`at,tokens,customer\n${AT},1,nobody\n`)
    const metric = newName('metric')
    const args = ['--file', csv, '--time', 'at']
    const noMetric = await run([...args, '--quantity', `tokens=${metric}`, '--account', 'nobody'])
    expect(noMetric.err).to.contain(`there is no metric named "${metric}"`)
    await run([...args, '--quantity', `tokens=${metric}`, '--account', newName('acme'), '--create'])
    const noAccount = await run([...args, '--quantity', `tokens=${metric}`, '--account', 'nobody'])
    expect(noAccount).to.include({ code: 1, out: '' })
    expect(noAccount.err).to.contain('there is no account')
    const noSuchCustomer = await run([
      ...args,
      '--quantity',
      `tokens=${metric}`,
      '--account-column',
      'customer',
    ])
    expect(noSuchCustomer.code).to.equal(1)
    expect(noSuchCustomer.err).to.equal(
      'bad line 2: there is no account with the external id "nobody"; --create makes it\n',
    )
    const noColumn = await run([
      ...args,
      '--quantity',
      'nothing=made-by-mistake',
      '--account',
      'nobody',
      '--create',
    ])
    expect(noColumn.code).to.equal(2)
    const { data } = await askJson<{ data: { name: string }[] }>(tally, '/v2/metrics')
    expect(data.map(({ name }) => name))
      .to.include(metric)
      .and.not.include('made-by-mistake')
  })

  it('finds an account by id or name, and refuses a name that several have', async () => {
    const name = newName('Acme Inc.')
    const { id } = await askJson<{ id: string }>(tally, '/v2/accounts', {
      name,
      external_id: name.replaceAll(' ', '-'),
    })
    const file = await fileWith(`at,tokens\n${AT},1\n`)
    const to = (account: string) =>
      run(['--file', file, '--time', 'at', '--quantity', 'tokens=currency:gbp', '--account', account])
    expect((await to(id)).code).to.equal(0)
    expect((await to(name)).code).to.equal(0)
    expect(await usageOf(tally, name.replaceAll(' ', '-'))).to.deep.equal({ gbp: '1/1' })
    await askJson(tally, '/v2/accounts', { name })
    expect((await to(name)).err).to.contain('several accounts are named')
    expect((await to(`account_${'0'.repeat(32)}`)).err).to.contain('there is no account')
  })

  it('makes one metric when two imports want it at the same time', async () => {
    const [metric, account] = [newName('metric'), newName('acme')]
    const args = ['--time', 'at', '--quantity', `tokens=${metric}`, '--account', account, '--create']
    const file = await fileWith(`at,tokens\n${AT},1\n`)
    const outcomes = await Promise.all([1, 2, 3].map(() => run(['--file', file, ...args])))
    expect(outcomes.map(({ code, err }) => [code, err])).to.deep.equal([
      [0, ''],
      [0, ''],
      [0, ''],
    ])
    expect(await usageOf(tally, account)).to.deep.equal({ [metric]: '1/1' })
  })

  it('sends nothing on a dry run, and shows what it would send', async () => {
    const file = await fileWith(`at,tokens\n${AT},1.5\n${AT},1.5\n${AT},x\n`)
    const args = ['--file', file, ...TOKENS, '--account', 'nobody', '--dry-run']
    const { code, out, err } = await importWith([...args, '--url', 'http://127.0.0.1:1'])
    expect(code).to.equal(1)
    expect(out).to.contain('tokens as tokens: 2 events, sum 3\n').and.contain(`"occurred_at":${AT}`)
    expect(err).to.contain('bad line 4: tokens: "x"')
  })

  for (const [what, args, reason] of [
    ['no quantity', ['--time', 'at', '--account', 'x'], '--quantity is required'],
    ['no account', ['--time', 'at', '--quantity', 'a=b'], 'exactly one of --account'],
    [
      'two accounts',
      ['--time', 'at', '--quantity', 'a=b', '--account', 'x', '--account-column', 'y'],
      'exactly one of --account',
    ],
    ['an unknown option', ['--nonsense'], '--nonsense'],
    [
      'a currency of four letters',
      ['--time', 'at', '--quantity', 'a=currency:euro', '--account', 'x'],
      'three letters',
    ],
    [
      'a batch too large',
      ['--time', 'at', '--quantity', 'a=b', '--account', 'x', '--batch-size', '1001'],
      '--batch-size',
    ],
    [
      'an unknown time format',
      ['--time', 'at', '--quantity', 'a=b', '--account', 'x', '--time-format', 'unix'],
      '--time-format',
    ],
  ] as [string, string[], string][])
    it(`refuses ${what} with exit code 2`, async () => {
      const { code, err, out } = await importWith(['--file', 'usage.csv', ...args])
      expect({ code, out }).to.deep.equal({ code: 2, out: '' })
      expect(err).to.contain(reason).and.contain('--help')
    })

  it('explains itself', async () => {
    const { code, out } = await importWith(['--help'])
    expect(code).to.equal(0)
    expect(out).to.contain('usage: npm run import -- --file FILE').and.contain('--source')
  })

  it('says that options come after -- when npm kept them', async () => {
    for (const args of [[], ['usage.csv', 'at']]) {
      const { code, err } = await importWith(args)
      expect(code).to.equal(2)
      expect(err).to.contain('(with npm, options come after --: npm run import -- --file …)')
    }
    expect((await importWith(['--nonsense'])).err).to.not.contain('with npm')
  })

  it('refuses on a dry run what happened too long ago or is yet to happen', async () => {
    const now = Math.floor(Date.now() / 1_000)
    const lines = [now - 6 * 366 * 86_400, now, now + 900].map((at) => `${at},1\n`)
    const file = await fileWith(`at,tokens\n${lines.join('')}`)
    const { code, out, err } = await importWith(['--file', file, ...TOKENS, '--account', 'x', '--dry-run'])
    expect({ code, err }).to.deep.equal({
      code: 1,
      err: 'bad line 2: at: lies more than five years back\nbad line 4: at: lies more than five minutes ahead\n',
    })
    expect(out).to.contain('tokens as tokens: 1 events')
  })

  it('finds a file from where the user is, not from where npm runs it', async () => {
    const file = await fileWith(`at,tokens\n${AT},1\n`)
    const args = (name: string) => ['--file', name, ...TOKENS, '--account', 'x', '--dry-run']
    const env = { INIT_CWD: folder }
    expect((await importWith(args(path.basename(file)), { env })).code).to.equal(0)
    expect((await importWith(args('nothing.csv'), { env })).err).to.equal(
      `cannot read ${path.join(folder, 'nothing.csv')}: there is no such file\n`,
    )
  })

  it('guesses why a column is not there', async () => {
    const to = [...TOKENS, '--account', 'x', '--dry-run']
    const { code, err } = await importWith(['--file', await fileWith(`at;tokens\n${AT};1\n`), ...to])
    expect(code).to.equal(2)
    expect(err).to.contain('there is no column "at"; the delimiter seems to be ;, see --delimiter')
  })

  it('finds the Tally of the data folder, and says where it looked when nothing listens', async () => {
    const file = await fileWith(`at,tokens\n${AT},1\n`)
    const args = ['--file', file, ...TOKENS, '--account', newName('acme'), '--create']
    expect((await importWith(args, { env: { DATA_DIR: tally.dataFolder } })).code).to.equal(0)
    const startedAt = performance.now()
    const away = await importWith(args, { env: { DATA_DIR: tally.dataFolder, PORT: '1' } })
    expect(performance.now() - startedAt).to.be.within(2_000, 10_000)
    expect(away).to.include({ code: 1, out: '' })
    expect(away.err).to.match(
      /\nnothing listens on http:\/\/127\.0\.0\.1:1: start Tally with npm start, or give --url\n$/,
    )
    const tooLong = await importWith([...args, '--url', `${tally.url}/v2/`])
    expect(tooLong).to.include({ code: 2 })
    expect(tooLong.err).to.contain('--url must not end in /v2')
  })

  it('shows names of columns that cannot be seen by their numbers', async () => {
    const file = await fileWith(`\u200bat,tokens,\u001b[31m\n${AT},1,x\n`)
    const { code, err } = await importWith(['--file', file, ...TOKENS, '--account', 'x', '--dry-run'])
    expect(code).to.equal(2)
    expect(err).to.contain('there is no column "at"; there are \\u{200b}at, tokens, \\u{1b}[31m')
    const wanted = await importWith([
      '--file',
      file,
      '--time',
      '\ufeffat',
      ...TOKENS.slice(2),
      '--account',
      'x',
    ])
    expect(wanted.err).to.contain('there is no column "\\u{feff}at"')
  })

  it('makes no account whose id cannot be seen or asked for, and says so', async () => {
    const name = newName('acme')
    const [first, second] = ['account,at,tokens', `${name},${AT},1`]
    // Two concatenated files: the second begins with a byte order mark. Then an id with an invisible character.
    const file = await fileWith(
      `\ufeff\ufeff${first}\n${second}\n\ufeff${name},${AT},2\n${name}\u200b,${AT},4\n\u202e${name},${AT},8\n..,${AT},16\n`,
    )
    const { code, err } = await run(['--file', file, ...TOKENS, '--account-column', 'account', '--create'])
    expect(code).to.equal(1)
    const refusal = (id: string) =>
      `account with the external id "${id}", and --create makes none with characters that cannot be seen\n`
    expect(err).to.equal(
      `bad line 4: there is no ${refusal(`${name}\\u{200b}`)}bad line 5: there is no ${refusal(`\\u{202e}${name}`)}` +
        'bad line 6: there is no account with the external id "..", and none can be made, because such an id is lost in URLs\n',
    )
    expect(await usageOf(tally, name)).to.deep.equal({ tokens: '3/2' })
    const fixed = await run([
      '--file',
      await fileWith(`at,tokens\n${AT},1\n`),
      ...TOKENS,
      '--account',
      `${name}\u200b`,
      '--create',
    ])
    expect(fixed).to.include({ code: 1, out: '' })
    expect(fixed.err).to.contain('--create makes none with characters that cannot be seen')
  })

  it('reports for an account whose id cannot be seen when it is there', async () => {
    const name = `${newName('acme')}\u200d`
    const headers = { 'x-api-key': tally.key, 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'x', external_id: name })
    expect((await fetch(`${tally.url}/v2/accounts`, { method: 'POST', headers, body })).status).to.equal(200)
    const file = await fileWith(`account,at,tokens\n${name},${AT},1\n`)
    const { code } = await run(['--file', file, ...TOKENS, '--account-column', 'account', '--create'])
    expect(code).to.equal(0)
    expect(await usageOf(tally, name)).to.deep.equal({ tokens: '1/1' })
  })

  it('refuses a file that is not there, a folder and UTF-16 in one line', async () => {
    const to = [...TOKENS, '--account', 'x', '--format', 'csv', '--dry-run']
    for (const [file, reason] of [
      [path.join(folder, 'nothing.csv'), 'cannot read'],
      [folder, `${folder} is a folder`],
      [await fileWith(Buffer.from('\uFEFFat,tokens\n1,2', 'utf16le')), 'UTF-16'],
    ] as const) {
      const { code, err } = await importWith(['--file', file, ...to])
      expect(code).to.be.oneOf([1, 2])
      expect(err).to.contain(reason)
    }
  })

  it('says in one sentence that a key is not known, may not write, or is not there', async () => {
    const file = await fileWith(`at,tokens\n${AT},1\n`)
    const args = ['--file', file, ...TOKENS, '--account', 'x', '--url', tally.url]
    const wrong = await importWith(args, { env: { TALLY_API_KEY: 'nonsense' } })
    expect(wrong).to.deep.equal({
      code: 1,
      out: '',
      err: `the Tally at ${tally.url} does not know the API key in TALLY_API_KEY (401); to make one, run: npm run keys -- issue\n`,
    })
    const broken = await importWith(args, { env: { TALLY_API_KEY: 'ключ' } })
    expect(broken).to.deep.equal({ code: 1, out: '', err: 'there is no API key in TALLY_API_KEY\n' })
    const none = await importWith(args, { env: { DATA_DIR: folder } })
    expect(none.err).to.contain('cannot read the API key').and.contain('TALLY_API_KEY')
  })

  it('takes the key from the environment', async () => {
    const file = await fileWith(`at,tokens\n${AT},1\n`)
    const args = ['--file', file, ...TOKENS, '--account', newName('acme'), '--create', '--url', tally.url]
    expect((await importWith(args, { env: { TALLY_API_KEY: tally.key } })).code).to.equal(0)
  })
})

interface SentEvent {
  occurred_at: number
  properties: object
  idempotency_key: string
}

const eventsIn = ({ seen }: FaultyProxy): SentEvent[] =>
  seen
    .filter(({ path: at }) => at === '/v2/events/batch')
    .flatMap(({ body }) => (JSON.parse(body) as { events: SentEvent[] }).events)

/** A decimal text with up to three places in thousandths. */
function thousandthsOf(text: string): bigint {
  const [whole = '', places = ''] = text.replace('-', '').split('.')
  const units = BigInt(whole + places.padEnd(3, '0'))
  return text.startsWith('-') ? -units : units
}
