import { expect } from 'chai'
import { analystUsers } from '../../../services/analysts/analyst-users.ts'
import type { EndpointUser } from '../../../services/analysts/endpoint-user.ts'
import { digestOfPassword } from '../../../shared/domain/analyst.ts'
import type { ValidAnalyst } from '../../../shared/postgres/analysts.ts'
import { NAMES } from '../../../shared/redis/names.ts'
import { openPurges } from '../../../shared/redis/purges.ts'

const userNamed = (name: string): EndpointUser => ({
  user: name,
  bodyBytesMax: 1,
  mayGet: true,
  answer: () => Promise.resolve(),
})

describe('who may sign in as an analyst', () => {
  /** What the database has. */
  let stored: Record<string, string>
  let reads: number
  let ended: string[]
  let failure: Error | undefined

  const analysts = (): ValidAnalyst[] =>
    Object.entries(stored).map(([name, password], number) => ({
      name,
      digest: digestOfPassword(password),
      company: 'acme',
      number,
    }))
  const open = () => {
    const purges = openPurges(undefined)
    const users = analystUsers({
      list: () => {
        reads++
        return failure === undefined ? Promise.resolve(analysts()) : Promise.reject(failure)
      },
      purges,
      serve: ({ name }) => userNamed(name),
      endQueries: (name) => ended.push(name),
    })
    const find = async (user: string | undefined, password: string) =>
      (await users.find({ user, password }))?.user
    return { find, purges }
  }

  beforeEach(() => {
    stored = { ada: 'a', eve: 'e' }
    reads = 0
    ended = []
    failure = undefined
  })

  it('is decided by the name and its password, or by the password alone as a token', async () => {
    const { find } = open()
    expect(await find('ada', 'a')).to.equal('ada')
    expect(await find('ada', 'e')).to.equal(undefined)
    expect(await find('nobody', 'a')).to.equal(undefined)
    expect(await find('', 'a')).to.equal(undefined)
    expect(await find(undefined, 'e')).to.equal('eve')
    expect(await find(undefined, 'x')).to.equal(undefined)
  })

  it('costs one reading for any number of names and passwords', async () => {
    const { find } = open()
    await Promise.all(Array.from({ length: 100 }, (_, i) => find(`name ${i}`, String(i))))
    expect(reads).to.equal(1)
  })

  it('is known again within seconds, and at once when this process revokes', async () => {
    const { find, purges } = open()
    expect(await find('ada', 'a')).to.equal('ada')
    stored = { eve: 'e', new: 'n' }
    expect(await find('ada', 'a')).to.equal('ada')
    await purges.purge(NAMES.analysts)
    expect(await find('ada', 'a')).to.equal(undefined)
    expect(await find('new', 'n')).to.equal('new')
    expect(ended).to.deep.equal(['ada'])
    await purges.purge('something else')
    expect(reads).to.equal(2)
    stored = {}
    const startedAt = performance.now()
    while ((await find('new', 'n')) !== undefined) await new Promise((resolve) => setTimeout(resolve, 50))
    expect(performance.now() - startedAt).to.be.within(1_000, 4_000)
    expect(ended.sort()).to.deep.equal(['ada', 'eve', 'new'])
  })

  it('fails while it cannot be read, and then works again', async () => {
    const { find, purges } = open()
    expect(await find('ada', 'a')).to.equal('ada')
    failure = new Error('PostgreSQL is away')
    await purges.purge(NAMES.analysts)
    const refused = await find('ada', 'a').then(
      () => undefined,
      (err: unknown) => err,
    )
    expect(refused).to.equal(failure)
    failure = undefined
    expect(await find('ada', 'a')).to.equal('ada')
  })
})
