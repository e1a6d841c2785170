import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'

/** Code that takes a lock by its name or number, or sends to a channel. */
const TAKES = /hashtext(extended)?\(|_LOCK\]|lockCreation\(|runExclusively\(|pg_notify\(|LISTEN \$/

describe('the names by which processes of two versions meet', () => {
  let named: [file: string, texts: string[]][]

  const textOf = (file: string) => readFile(path.join(PROJECT_ROOT, file), 'utf8')

  before(async () => {
    named = Object.entries(JSON.parse(await textOf('test/upgrade/names.json')) as Record<string, string[]>)
  })

  it('are those of test/upgrade/names.json: a process of the version before uses them, too', async () => {
    const gone: string[] = []
    for (const [file, texts] of named) {
      const code = await textOf(file)
      gone.push(...texts.filter((text) => !code.includes(text)).map((text) => `${file}: ${text}`))
    }
    expect(gone).to.deep.equal([])
  })

  it('all stand in that list', async () => {
    const texts = new Map(named)
    const unlisted: string[] = []
    for (const room of ['shared', 'services'])
      for (const name of await readdir(path.join(PROJECT_ROOT, room), { recursive: true })) {
        const file = `${room}/${name}`
        if (!/\.(ts|sql)$/.test(file)) continue
        for (const line of (await textOf(file)).split('\n'))
          if (TAKES.test(line) && texts.get(file)?.some((text) => line.includes(text)) !== true)
            unlisted.push(`${file}: ${line.trim()}`)
      }
    expect(unlisted).to.deep.equal([])
  })
})
