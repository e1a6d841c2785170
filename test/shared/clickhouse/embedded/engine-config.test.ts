import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { makeTempFolder } from '../../../support/temp-folder.ts'

const run = promisify(execFile)

describe('the embedded engine', function () {
  this.timeout(60_000)

  it('is in UTC, whatever zone the machine is in', async () => {
    const folder = await makeTempFolder('zone')
    const script = path.join(import.meta.dirname, 'ask-clickhouse.js')
    const ask = async (zone: string, query: string) => {
      const env = { ...process.env, TZ: zone }
      const { stdout } = await run(process.execPath, [script, path.join(folder, 'clickhouse'), query], {
        env,
      })
      return JSON.parse(stdout) as unknown
    }
    const query = `SELECT timezone() AS zone, serverTimezone() AS server,
      toUnixTimestamp('2026-07-01 00:00:00') AS parsed, toString(toDateTime(1782864000)) AS shown,
      toString(toDate(1782864000)) AS day, toString(toStartOfDay(toDateTime(1782864000))) AS start`
    for (const zone of ['America/New_York', 'Asia/Kathmandu', 'UTC'])
      expect(await ask(zone, query), zone).to.deep.equal([
        {
          zone: 'UTC',
          server: 'UTC',
          parsed: 1_782_864_000,
          shown: '2026-07-01 00:00:00',
          day: '2026-07-01',
          start: '2026-07-01 00:00:00',
        },
      ])
    await rm(folder, { recursive: true })
  })
})
