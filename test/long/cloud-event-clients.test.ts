import { expect } from 'chai'
import { ApiClient } from '../support/api-client.ts'
import { copyPrograms, installPython, requirePrograms, runIn } from '../support/programs.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../support/tally-under-test.ts'
import { makeWorld } from '../support/usage-world.ts'

/** Long, because packages are fetched over the network. */
const TIMEOUT_MS = 900_000
const PROGRAMS = 'long/cloud-event-clients'

describe('clients of others that send CloudEvents', function () {
  this.timeout(TIMEOUT_MS)
  let tally: TallyUnderTest
  let world: Awaited<ReturnType<typeof makeWorld>>

  // Each test has a company of its own, whose only account is acme.
  beforeEach(async () => {
    tally = await shareTallyUnderTest()
    const api = new ApiClient(tally.url, tally.key)
    world = await makeWorld(api)
    await api.patch(`/v2/accounts/${world.account}`, { external_id: 'acme' })
    await api.patch(`/v2/metrics/${world.tokens}`, { event_type: 'model.called', event_quantity: 'tokens' })
    await api.patch(`/v2/metrics/${world.calls}`, { event_type: 'model.called' })
  })
  afterEach(() => tally.end())

  const words = () => [tally.url, tally.key, '/test']

  /** Waits until the events are counted, and checks that each was counted once. */
  const expectOnce = async (events: number, tokens: string) => {
    await world.counted(2 * events)
    expect(await world.usage()).to.deep.equal({ [world.tokens]: tokens, [world.calls]: String(events) })
  }

  const installNode = async (context: Mocha.Context): Promise<string> => {
    requirePrograms(context, 'REQUIRE_NPM', [['npm', '--version']])
    const folder = await copyPrograms(PROGRAMS)
    // OpenMeter's SDK needs Node 22. The package `node` brings one in a script of its installation.
    await runIn(folder, 'npm', ['install', '--no-audit', '--no-fund', '--foreground-scripts'])
    return folder
  }

  it('count once with the package cloudevents in JavaScript, alone and in lists', async function () {
    const folder = await installNode(this)
    const printed = await runIn(folder, 'node_modules/.bin/node', ['report-cloudevents.mjs', ...words()])
    const { body } = JSON.parse(printed) as { body: string }
    expect(JSON.parse(body)).to.have.property('accepted', 2)
    await expectOnce(4, '13.500000100000000001')
  })

  it('count once with OpenMeter’s SDK, which is told when an event is refused', async function () {
    const folder = await installNode(this)
    const printed = await runIn(folder, 'node_modules/.bin/node', ['report-openmeter.mjs', ...words()])
    expect(JSON.parse(printed)).to.deep.equal({ refusal: 422 })
    await expectOnce(3, '12.500000100000000001')
  })

  it('count once with the package cloudevents in Python, alone and in lists', async function () {
    requirePrograms(this, 'REQUIRE_PYTHON', [['python3', '--version']])
    const folder = await copyPrograms(PROGRAMS)
    await installPython(folder)
    await runIn(folder, 'venv/bin/python', ['report.py', ...words()])
    await expectOnce(3, '12.500000100000000001')
  })
})
