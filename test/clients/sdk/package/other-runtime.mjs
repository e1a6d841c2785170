// Runs the build of the package for other runtimes in a context that has only what all of them have.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import vm from 'node:vm'

const sent = []
let attempts = 0
const context = vm.createContext({
  fetch: (url, { method, signal }) => {
    sent.push(`${method} ${url}`)
    if (++attempts === 1) return Promise.reject(new Error('lost'))
    if (signal.aborted) return Promise.reject(new Error('aborted'))
    return Promise.resolve(
      new Response('{"id":"event_1"}', { status: 202, headers: { 'Content-Type': 'application/json' } }),
    )
  },
  URL,
  AbortController,
  TextEncoder,
  TextDecoder,
  atob,
  crypto,
  setTimeout,
  clearTimeout,
})

const modules = new Map()
function load(file) {
  const known = modules.get(file)
  if (known !== undefined) return known
  const loaded = new vm.SourceTextModule(readFileSync(file, 'utf8'), { context, identifier: file })
  modules.set(file, loaded)
  return loaded
}

const entry = load(path.resolve('node_modules/@tally-metering/sdk/dist/index.js'))
await entry.link((specifier, from) => {
  if (!specifier.startsWith('.')) throw new Error(`${from.identifier} imports ${specifier}`)
  return load(path.resolve(path.dirname(from.identifier), specifier))
})
await entry.evaluate()

const { Tally } = entry.namespace
const tally = new Tally({ url: 'http://tally.test', apiKey: 'key' })
const { id } = await tally.events.report({ account_id: 'account_1', currency: 'usd', quantity: '1' })
const { body, time, signature, secret } = JSON.parse(process.argv[2])
const headers = { 'webhook-id': 'msg', 'webhook-timestamp': time, 'webhook-signature': signature }
const webhook = await Tally.webhooks.unwrap(body, headers, secret)
console.log(JSON.stringify({ sent, id, webhook }))
