import { expect } from 'chai'
import { runCommand } from '../support/by-hand.ts'
import { startTally } from '../support/start-tally.ts'
import { until } from '../support/until.ts'
import { checkLedger } from './check-ledger.ts'
import { makeSmallDisk, type SmallDisk } from './small-disk.ts'
import { startTallyStage, type TallyStage } from './tally-stage.ts'

const MB = 1_000_000

describe('a full disk', function () {
  this.timeout(240_000)

  describe('while Tally serves', () => {
    let disk: SmallDisk
    let stage: TallyStage

    before(async function () {
      disk = await makeSmallDisk(this, 1_000 * MB)
      // Why a separate Tally: the test fills its disk.
      stage = await startTallyStage('full disk', { dataFolder: disk.folder })
    })
    after(async () => {
      await (stage as TallyStage | undefined)?.tally.stop()
      await (disk as SmallDisk | undefined)?.remove()
    })

    /** Sends a report that is refused, so it is not in the ledger. */
    const report = async () => {
      const { status, text, headers } = await stage.api.post('/v2/events', {
        account_id: `account_${'0'.repeat(32)}`,
        currency: 'usd',
        quantity: '1',
      })
      return { status, text, retryAfter: headers.get('retry-after') }
    }
    const customer = () => stage.api.post('/v2/customers', { name: 'Any' })
    const expectReads = async () => {
      const [account] = stage.accounts
      for (const path of [
        `/v2/accounts/${account ?? ''}/balance?currency=usd`,
        `/v2/accounts/${account ?? ''}/usage?start_at=0&end_at=4294967295`,
        '/v2/events',
      ])
        expect((await stage.api.get(path)).status, path).to.equal(200)
      expect(await stage.isReady(), 'ready').to.equal(true)
    }
    const diskLine = async () => {
      const { output } = await runCommand(disk.folder, 'doctor')
      return output.split('\n').find((line) => line.includes('disk of DATA_DIR'))
    }

    it('refuses usage, then writes, answers reads throughout, and all goes on once there is room', async () => {
      const { ledger } = stage
      ledger.start()
      await until(() => Promise.resolve(ledger.count('acknowledged') > 100))

      await disk.fillTo(170 * MB)
      const refused = await until(async () => {
        const answer = await report()
        return answer.status === 503 && answer
      })
      expect(refused).to.deep.equal({
        status: 503,
        text: 'the disk of this Tally is nearly full: no usage is taken until there is room again, try again later',
        retryAfter: '5',
      })
      const { status } = await stage.api.post('/v2/events/corrections', {
        corrections: [{ event_id: `event_${'0'.repeat(32)}`, void: true }],
      })
      expect(status, 'a correction').to.equal(503)
      await stage.drained() // accepted usage is still counted
      await expectReads()
      expect((await customer()).status).to.equal(200)
      expect(await stage.metric('tally_data_disk_free_bytes')).to.be.within(100 * MB, 200 * MB)
      expect(await diskLine()).to.match(
        /^failed +disk of DATA_DIR: 1\d\d MB free: below 200 no usage is taken/,
      )

      await disk.fillTo(60 * MB)
      await until(async () => (await customer()).status === 503)
      await expectReads()
      expect((await report()).status).to.equal(503)

      await disk.empty()
      await until(async () => (await report()).status === 422)
      expect((await customer()).status).to.equal(200)
      const before = ledger.count('acknowledged')
      await until(() => Promise.resolve(ledger.count('acknowledged') > before + 100))
      await ledger.stop()
      expect(ledger.attempts.filter((attempt) => attempt.status === 503)).to.have.length.above(5)
      expect(await diskLine()).not.to.contain('no usage is taken')
    })

    it('has lost and doubled nothing', async () => {
      await checkLedger(stage)
    })

    it('is said once in the log for each change, not for each report that was refused', () => {
      const lines = stage.tally
        .output()
        .split('\n')
        .filter((line) => line.includes('"level":50'))
      expect(lines.filter((line) => line.includes('the disk of DATA_DIR')).length).to.be.within(2, 3)
      expect(lines.filter((line) => line.includes('request failed'))).to.deep.equal([])
    })
  })

  describe('at a start', () => {
    let disk: SmallDisk

    afterEach(() => (disk as SmallDisk | undefined)?.remove())

    const refusal = (folder: string) =>
      startTally({ dataFolder: folder }).then(
        () => 'it started',
        (err: unknown) => String(err),
      )

    it('is named as the cause, by a first one and by another, in one line', async function () {
      disk = await makeSmallDisk(this, 500 * MB)
      await disk.fillTo(25 * MB)
      const full =
        /^Error: Tally did not start: the disk of \/\S+\/data is full: make room there, and start again \(.+\)\n$/
      expect(await refusal(disk.folder))
        .to.match(full)
        .and.to.contain('No space left on device')
      await disk.empty()
      const tally = await startTally({ dataFolder: disk.folder })
      expect(await tally.stop()).to.equal(0)
      for (const free of [4 * MB, 0]) {
        await disk.fillTo(free)
        expect(await refusal(disk.folder), `${free} bytes free`).to.match(full)
      }
      await disk.empty()
      expect(await (await startTally({ dataFolder: disk.folder })).stop()).to.equal(0)
    })
  })
})
