import { hostToCall } from '../../shared/config/host-to-call.ts'
import { openServers } from '../../shared/http/open-servers.ts'
import { openCommandSocket } from '../operator/open-command-socket.ts'
import { startAnalystEndpoint } from './analyst-endpoint.ts'
import { makeAdminApp, makeCommandsApp, makeTallyApp, type Parts } from './apps.ts'
import { portsOf } from './ports.ts'
import type { Start } from './start.ts'

/** The addresses on which Tally listens. */
export interface OpenPorts {
  port: number
  /** Host and port as in a URL, for clients on this machine. */
  address: string
  /** Host and port of probes and metrics, as in a URL. */
  adminAddress: string
  /** Host and port where analysts query the embedded ClickHouse; undefined when ClickHouse is a server. */
  analystAddress: string | undefined
  /** Whether one analyst may sign in who sees all companies. */
  analystSeesAll: boolean
  /** Whether there is a console. */
  servesConsole: boolean
  /** Called when Tally must end but still serves: it is not ready any more, and each answer ends its connection. */
  drain: () => void
}

/**
 * Opens the commands' socket and the ports. The API's port is opened last, so that everything else works once a client
 * can connect to it. Until that moment Tally is not ready.
 *
 * @throws StartupError when a port is taken
 */
export async function openPorts(start: Start, parts: Parts): Promise<OpenPorts> {
  const { config, folder, engines, opened, log } = start
  const stopping = new AbortController()
  const analysts: { port: number | undefined } = { port: undefined }
  const analystAddress = () =>
    analysts.port === undefined ? undefined : `${hostToCall(config.analystHost)}:${analysts.port}`
  const commands = makeCommandsApp(parts, { config, folder, engines, log, analystAddress }, stopping.signal)
  opened.push(await openCommandSocket(commands, folder.path))
  const ports = portsOf(config)
  const servers = openServers(opened, log)
  // Closing ends running commands. This is done before the socket closes, because the socket waits for their answers.
  opened.push({
    name: 'commands',
    close() {
      stopping.abort()
      return Promise.resolve()
    },
  })
  let isServing = false
  const isReady = async () => isServing && (await parts.isReady())
  const adminServer = await servers.open(makeAdminApp({ ...parts, isReady }, config, log), ports.admin)
  analysts.port = await startAnalystEndpoint(start, servers, parts)
  const { handler, relay, warming } = makeTallyApp(parts, config, log)
  opened.push(relay, warming)
  const { requestTimeoutMs } = config
  const server = await servers.open(handler, { ...ports.api, requestTimeoutMs })
  const { port } = server
  isServing = true
  return {
    port,
    address: `${hostToCall(config.host)}:${port}`,
    adminAddress: `${hostToCall(config.admin.host)}:${adminServer.port}`,
    analystAddress: analystAddress(),
    analystSeesAll: config.analysts.seesAll,
    servesConsole: config.api.servesConsole,
    drain() {
      isServing = false
      server.drain()
    },
  }
}
