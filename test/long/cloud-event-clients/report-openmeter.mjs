// Reports with OpenMeter's SDK, which sends lists. Each event is sent three times: as a retry of a program would do it.
import { OpenMeter } from '@openmeter/sdk'

const [url, key, source] = process.argv.slice(2)
const openmeter = new OpenMeter({ baseUrl: `${url}/openmeter`, apiKey: key })
const eventOf = (id, data) => ({ id, source, type: 'model.called', subject: 'acme', time: new Date(), data })
const events = [
  eventOf('1', { tokens: 12.5 }),
  eventOf('2', { tokens: '0.000000000000000001', model: 'large' }),
]

for (let attempt = 0; attempt < 3; attempt++) {
  await openmeter.events.ingest(events[0])
  await openmeter.events.ingest(events)
}
// The SDK makes id, source and time itself.
await openmeter.events.ingest({ type: 'model.called', subject: 'acme', data: { tokens: 1e-7 } })

const refusal = await openmeter.events.ingest({ ...events[0], subject: 'nobody' }).then(
  () => 'none',
  (err) => err.status ?? err.name,
)
console.log(JSON.stringify({ refusal }))
