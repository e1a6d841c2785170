// Reports CloudEvents with the package of the CloudEvents project: alone, then as a list. Each event is sent three times.
import { CloudEvent, HTTP, Mode, emitterFor, httpTransport } from 'cloudevents'

const [url, key, source] = process.argv.slice(2)
const eventOf = (id, data) => new CloudEvent({ id, source, type: 'model.called', subject: 'acme', data })
const one = eventOf('a b%20/ü', { tokens: 12.5, model: 'large' })
const list = [eventOf('1', { tokens: '0.000000000000000001' }), eventOf('2', { tokens: 1e-7 })]

async function post(path, { headers, body }) {
  const answer = await fetch(url + path, { method: 'POST', headers: { ...headers, 'x-api-key': key }, body })
  if (answer.status !== 202) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`)
}

const emit = emitterFor(httpTransport(`${url}/v2/events`), { mode: Mode.STRUCTURED })
for (let attempt = 0; attempt < 3; attempt++) {
  await post('/v2/events', HTTP.structured(one))
  // The package writes no lists, but its events write themselves.
  const body = `[${list.map((event) => event.toString()).join(',')}]`
  await post('/v2/events/batch', { headers: { 'content-type': 'application/cloudevents-batch+json' }, body })
}
const sent = await emit(eventOf('3', { tokens: 1 }), { headers: { 'x-api-key': key } })
console.log(JSON.stringify({ body: sent.body }))
