import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A proxy between two programs that fails like a network, at any byte and for any protocol. */
export interface TcpProxy {
  port: number
  /** The target port on 127.0.0.1. It may change, for example when a server starts again. */
  target: number
  /** Cuts every open connection. */
  cut(): void
  /** Sets the state: bytes pass, bytes are held back in both directions, or connections are cut and refused. */
  become(state: 'passing' | 'holding' | 'refusing'): void
  close(): Promise<void>
}

export async function tcpProxy(target: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let state: 'passing' | 'holding' | 'refusing' = 'passing'
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => undefined) // the other connection is closed with it
    socket.setNoDelay(true)
  }
  const pass = (from: Socket, to: Socket) => {
    from.on('data', (bytes) => {
      if (!to.write(bytes)) from.pause()
    })
    to.on('drain', () => {
      if (state === 'passing') from.resume()
    })
    from.once('end', () => to.end())
    from.once('close', () => to.destroy())
    if (state === 'holding') from.pause()
  }
  const server = createServer({ allowHalfOpen: true }, (client) => {
    keep(client)
    if (state === 'refusing') {
      client.resetAndDestroy()
      return
    }
    const onward = connect({ port: proxy.target, host: '127.0.0.1', allowHalfOpen: true })
    keep(onward)
    pass(client, onward)
    pass(onward, client)
  })
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const proxy: TcpProxy = {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    target,
    cut,
    become(next) {
      state = next
      if (state === 'refusing') cut()
      for (const socket of sockets)
        if (state === 'holding') socket.pause()
        else socket.resume()
    },
    async close() {
      const closed = once(server, 'close')
      server.close()
      cut()
      await closed
    },
  }
  return proxy
}
