import { expect } from 'chai'
import { type Room, roomAfter, watchDisk } from '../../../shared/lifecycle/disk-space.ts'
import { openMetrics } from '../../../shared/metrics/metrics.ts'
import { testLog } from '../../support/log.ts'
import { until } from '../../support/until.ts'

const MB = 1_000_000

describe('the room on a disk', () => {
  it('gets little and none as it shrinks, and comes back later than it went', () => {
    let room: Room = 'enough'
    const rooms = [500, 201, 199, 250, 299, 300, 199, 101, 99, 120, 149, 150, 299, 301].map((megabytes) => {
      room = roomAfter(room, megabytes * MB)
      return `${megabytes} ${room}`
    })
    expect(rooms).to.deep.equal([
      '500 enough',
      '201 enough',
      '199 little',
      '250 little',
      '299 little',
      '300 enough',
      '199 little',
      '101 little',
      '99 none',
      '120 none',
      '149 none',
      '150 little',
      '299 little',
      '301 enough',
    ])
    expect(roomAfter('enough', 10 * MB)).to.equal('none')
    expect(roomAfter('none', 400 * MB)).to.equal('enough')
  })

  it('is watched, shown, and stays what it was while it cannot be seen', async () => {
    let free: number | undefined = 400 * MB
    const metrics = openMetrics()
    const disk = await watchDisk('/data', {
      metrics,
      log: testLog,
      readFree: () => (free === undefined ? Promise.reject(new Error('EIO')) : Promise.resolve(free)),
    })
    const shown = async () => {
      const { text } = await metrics.scrape()
      return Number(/^tally_data_disk_free_bytes (\S+)$/m.exec(text)?.[1])
    }
    try {
      expect(disk.room()).to.equal('enough')
      free = 150 * MB
      await until(() => Promise.resolve(disk.room() === 'little'))
      expect(await shown()).to.equal(150 * MB)
      free = undefined
      await until(async () => Number.isNaN(await shown()))
      expect(disk.room()).to.equal('little')
      free = 400 * MB
      await until(() => Promise.resolve(disk.room() === 'enough'))
    } finally {
      await disk.close()
    }
  })
})
