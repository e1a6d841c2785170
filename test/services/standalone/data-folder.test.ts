import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { openDataFolder, RESTORING } from '../../../services/standalone/data-folder.ts'
import { readOrMakeSecret } from '../../../shared/config/secret-file.ts'
import { requireReachable } from '../../../shared/postgres/embedded/os-user.ts'
import { skipFor } from '../../run/pending.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'

const HOLDER = path.join(import.meta.dirname, 'hold-data-folder.js')

describe('the data folder', function () {
  this.timeout(30_000)
  let folder: string
  let holders: ChildProcess[] = []

  beforeEach(async () => {
    folder = path.join(await makeTempFolder('data-folder'), 'data')
  })
  afterEach(async () => {
    for (const holder of holders) holder.kill('SIGKILL')
    holders = []
    await rm(path.dirname(folder), { recursive: true, force: true })
  })

  const hold = async (): Promise<{ holder: ChildProcess; said: string }> => {
    const holder = spawn(process.execPath, [HOLDER, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
    holders.push(holder)
    const [said] = (await once(createInterface({ input: holder.stdout }), 'line')) as [string]
    return { holder, said }
  }

  it('refuses a folder that this user cannot write, in one line', async function () {
    await mkdir(folder, { mode: 0o755 })
    const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined
    for (const file of [process.execPath, HOLDER])
      await requireReachable(file, file, user).catch(() =>
        skipFor(this, `another user cannot enter the way to ${file}`),
      )
    if (user === undefined) await chmod(folder, 0o555)
    const holder = spawn(process.execPath, [HOLDER, folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
      ...user,
    })
    holders.push(holder)
    const [said] = (await once(createInterface({ input: holder.stdout }), 'line')) as [string]
    expect(said).to.equal(
      `refused: StartupError: the data folder ${folder} cannot be written by this user: set DATA_DIR to another`,
    )
  })

  const refusalOf = async (): Promise<string> => {
    let refusal: unknown
    await openDataFolder(folder).catch((err: unknown) => (refusal = err))
    return String(refusal)
  }

  it('belongs to one process at a time, and can be had again once it is given back', async () => {
    const held = await openDataFolder(folder)
    expect((await hold()).said).to.match(/refused: StartupError: the data folder .* is in use by process \d+/)
    await held.close()
    expect((await hold()).said).to.equal('held')
    expect(await refusalOf()).to.contain('is in use by process')
  })

  it('is free again after its process was killed', async () => {
    const { holder } = await hold()
    holder.kill('SIGKILL')
    await once(holder, 'exit')
    await (await openDataFolder(folder)).close()
  })

  it('is free although nobody has asked for the exit code of its killed process', async () => {
    const script = `${process.execPath} ${HOLDER} ${folder} & echo $!; exec sleep 60` // sleep never asks
    const parent = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit'] })
    holders.push(parent)
    let said = ''
    for await (const line of createInterface({ input: parent.stdout })) {
      said += `${line}\n`
      if (/^\d+$/m.test(said) && said.includes('held')) break
    }
    process.kill(Number.parseInt(said.replace('held', ''), 10), 'SIGKILL')
    await (await openDataFolder(folder)).close()
  })

  it('is free when a power cut left a lock that names nobody', async () => {
    await (await openDataFolder(folder)).close()
    await writeFile(path.join(folder, 'lock'), '')
    await (await openDataFolder(folder)).close()
  })

  it('is free when the number in its lock belongs to another program now', async () => {
    const held = await openDataFolder(folder)
    const text = await readFile(path.join(folder, 'lock'), 'utf8')
    await held.close()
    await writeFile(path.join(folder, 'lock'), text.replace(/\d+\n$/, '1\n')) // our process id, with another start time
    await (await openDataFolder(folder)).close()
  })

  it('goes to exactly one of many that come at once after a crash', async () => {
    const { holder } = await hold()
    holder.kill('SIGKILL')
    await once(holder, 'exit')
    const all = await Promise.all(Array.from({ length: 8 }, hold))
    expect(all.filter(({ said }) => said === 'held')).to.have.length(1)
  })

  it('is not had while a restore has not ended, also by who waited for it', async () => {
    const held = await openDataFolder(folder)
    const waiting = refusalOf()
    await writeFile(held.join(RESTORING), '')
    await held.close()
    expect(await waiting).to.contain('did not end')
    expect(await refusalOf()).to.contain('did not end')
    await rm(held.join(RESTORING))
    await (await openDataFolder(folder)).close()
  })

  it('keeps secrets in files that only we can read, and does not change them', async () => {
    const held = await openDataFolder(folder)
    const file = held.join('secret')
    expect(await readOrMakeSecret(file, () => 'one')).to.equal('one')
    expect(await readOrMakeSecret(file, () => 'two')).to.equal('one')
    expect((await stat(file)).mode & 0o777).to.equal(0o600)
    await held.close()
  })
})
