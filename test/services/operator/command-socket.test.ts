import { mkdir, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import path from 'node:path'
import { expect } from 'chai'
import { askRunning } from '../../../services/operator/ask-running.ts'
import { COMMAND_SOCKET, shortPathOf } from '../../../services/operator/command-socket.ts'
import { openCommandSocket } from '../../../services/operator/open-command-socket.ts'
import type { Closeable } from '../../../shared/lifecycle/close-all.ts'
import { runProgram } from '../../support/by-hand.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'

describe('the socket for commands', () => {
  let folder: string
  const opened: Closeable[] = []

  beforeEach(async () => {
    folder = await makeTempFolder('socket')
  })
  afterEach(async () => {
    for (const socket of opened.splice(0)) await socket.close()
    await rm(folder, { recursive: true, force: true })
  })

  const open = async (dataFolder = folder): Promise<Closeable> => {
    const socket = await openCommandSocket((req, res) => {
      res.end(`${JSON.stringify({ out: req.url })}\n{"exit":3}\n`)
    }, dataFolder)
    opened.push(socket)
    return socket
  }
  const ask = async (dataFolder = folder) => {
    const printed: string[] = []
    const print = (line: string) => printed.push(line)
    const exit = await askRunning(dataFolder, 'keys', [], { print, showProgress: () => undefined })
    return { exit, printed }
  }
  const answer = { exit: 3, printed: ['/commands/keys'] }
  const failureOf = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'it went well',
      (err: unknown) => String(err),
    )

  it('is for its user alone, and gone when it is closed', async () => {
    const socket = await open()
    const mode = async (name: string) => (await stat(path.join(folder, name))).mode & 0o777
    expect([await mode('operator'), await mode(COMMAND_SOCKET)]).to.deep.equal([0o700, 0o600])
    expect(await ask()).to.deep.equal(answer)
    opened.length = 0
    await socket.close()
    expect(await readdir(path.join(folder, 'operator'))).to.deep.equal([])
  })

  it('takes the place of one that a kill left behind, and closes a folder that was open to others', async () => {
    await mkdir(path.join(folder, 'operator'))
    const left = createServer().listen(path.join(folder, COMMAND_SOCKET))
    await writeFile(path.join(folder, 'admin-token'), 'secret')
    await writeFile(path.join(folder, 'admin-address'), '127.0.0.1:1')
    await open()
    expect((await stat(path.join(folder, 'operator'))).mode & 0o777).to.equal(0o700)
    expect(await ask()).to.deep.equal(answer)
    expect(await readdir(folder)).to.deep.equal(['operator'])
    left.close()
  })

  it('is made in a folder of our own alone', async () => {
    await mkdir(path.join(folder, 'elsewhere'))
    await symlink('elsewhere', path.join(folder, 'operator'))
    expect(await failureOf(open())).to.contain('operator is no folder of this user: remove it')
  })

  it('is reached in a folder with a long path, from wherever a command is given', async () => {
    const deep = path.join(folder, 'a'.repeat(60), 'ü'.repeat(60))
    await mkdir(deep, { recursive: true })
    await open(deep)
    expect(await ask(deep)).to.deep.equal(answer)
    const { code, output } = await runProgram('operator/main', { DATA_DIR: deep }, 'keys')
    expect([code, output]).to.deep.equal([3, '/commands/keys\n'])
    await opened[0]?.close()
    opened.length = 0
    expect(await readdir(path.join(deep, 'operator'))).to.deep.equal([])
  })

  it('is called by the shortest name that fits, and refused in one line where none does', async () => {
    const long = path.join(folder, 'b'.repeat(120))
    await mkdir(path.join(long, 'operator'), { recursive: true })
    const pathFrom = async (socket: string, cwd: string, openFiles?: string) => {
      const found = await shortPathOf(socket, { cwd, ...(openFiles === undefined ? {} : { openFiles }) })
      await found.release()
      return found.path
    }
    expect(await pathFrom(path.join(folder, COMMAND_SOCKET), long)).to.equal(
      path.join(folder, COMMAND_SOCKET),
    )
    expect(await pathFrom(path.join(long, COMMAND_SOCKET), long)).to.equal(COMMAND_SOCKET)
    expect(await pathFrom(path.join(long, COMMAND_SOCKET), '/')).to.match(/^\/proc\/self\/fd\/\d+\/socket$/)
    const refusal = await failureOf(pathFrom(path.join(long, COMMAND_SOCKET), '/', '/nowhere'))
    expect(refusal).to.match(/StartupError: the path \S+ is longer than the 107 bytes .*: set DATA_DIR/)
    // 107 bytes fit, 108 do not.
    const exact = `/${'x'.repeat(98)}/socket`
    for (const [name, isShort] of [
      [`/${exact}`, true],
      [`/x${exact}`, false],
    ] as const)
      expect((await failureOf(pathFrom(name, '/y/y'))) === 'it went well', name).to.equal(isShort)
  })

  it('says in one line why a command cannot be given', async () => {
    const advice = `no Tally runs in ${folder}: start Tally with npm start, or set DATA_DIR to its data folder`
    expect(await failureOf(ask())).to.equal(`StartupError: ${advice}`)
    expect(await failureOf(ask(path.join(folder, 'missing')))).to.contain(
      'missing: start Tally with npm start',
    )
    await mkdir(path.join(folder, 'operator'))
    await writeFile(path.join(folder, COMMAND_SOCKET), 'no socket')
    expect(await failureOf(ask())).to.equal(`StartupError: ${advice}`)
    const { code, output } = await runProgram('operator/main', { DATA_DIR: folder }, 'keys', 'list')
    expect([code, output]).to.deep.equal([1, `${advice}\n`])
  })
})
