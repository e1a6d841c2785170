import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'

describe('documentation over HTTP', function () {
  this.timeout(60_000)
  let tally: TallyUnderTest

  before(async () => {
    tally = await shareTallyUnderTest()
  })
  after(async () => {
    await tally.end()
  })

  it('is the contract itself, without a key', async () => {
    const answer = await fetch(`${tally.url}/openapi.yaml`)
    expect(answer.status).to.equal(200)
    expect(answer.headers.get('content-type')).to.match(/^application\/yaml/)
    expect(await answer.text()).to.equal(await readFile(path.join(PROJECT_ROOT, 'openapi.yaml'), 'utf8'))
  })

  it('is a page that needs nothing from elsewhere', async () => {
    const answer = await fetch(`${tally.url}/docs`)
    const page = await answer.text()
    expect(answer.status).to.equal(200)
    expect(answer.headers.get('content-security-policy')).to.contain("script-src 'self';")
    const files = [...page.matchAll(/(?:href|src)="(\/[^"]+)"/g)].map(([, file = '']) => file)
    expect(files).to.have.length(3)
    for (const file of files) {
      const { status, headers } = await fetch(`${tally.url}${file}`)
      expect(status, file).to.equal(200)
      expect(headers.get('content-type'), file).to.match(/^text\/(css|javascript)/)
    }
    expect(page).not.to.match(/https?:/)
    expect((await fetch(`${tally.url}/docs/swagger-ui.js.map`)).status).to.equal(404)
  })
})
