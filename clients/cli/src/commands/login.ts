import type { Command } from 'commander'
import { typedPath } from '../../../../shared/config/typed-path.ts'
import { StartupError } from '../../../../shared/errors/startup-error.ts'
import { UsageError } from '../../../../shared/errors/usage-error.ts'
import { readUrl, requireKey } from '../../../core/connection.ts'
import { Tally } from '../../../sdk/src/node.ts'
import type { CliContext, GlobalOptions } from '../cli-context.ts'
import { ADDRESS, readKeyFile } from '../connection.ts'
import { makePrinter } from '../print.ts'
import {
  DEFAULT_PROFILE,
  newKeyFile,
  readProfiles,
  removeProfile,
  requireProfileName,
  writePrivate,
  writeProfile,
} from '../profiles.ts'
import { readSecret } from '../read-secret.ts'

const LOCAL = /^http:\/\/(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?(?:\/|$)/

/** Adds `tally login`, `logout` and `profiles`. */
export function addLogin(program: Command, context: CliContext): void {
  const login = program
    .command('login')
    .summary('Keeps the address of Tally and an API key in a profile.')
    .description(
      'Keeps the address of Tally and an API key in a profile. The key is read from standard input, without an echo, ' +
        'and kept in a file that only you can read. With --key-file, the profile names that file instead.',
    )
  login.action(() => logIn(login.optsWithGlobals<GlobalOptions>(), context))
  const logout = program.command('logout').description('Removes a profile, with the key that login kept.')
  logout.action(async () => {
    const name = nameOf(logout.optsWithGlobals<GlobalOptions>(), context)
    if (!(await removeProfile(context.env, name))) throw new StartupError(`there is no profile ${name}`)
    makePrinter(context, {}).note(`removed profile ${name}; the key stays valid until it is revoked`)
  })
  const profiles = program.command('profiles').description('Lists the profiles.')
  profiles.action(async () => {
    const printer = makePrinter(context, profiles.optsWithGlobals<GlobalOptions>())
    const all = [...(await readProfiles(context.env))]
    printer.items(
      all.map(([name, { url, company, mode, keyFile }]) => ({ name, url, company, mode, key_file: keyFile })),
    )
  })
}

const nameOf = ({ profile }: GlobalOptions, { env }: CliContext): string =>
  requireProfileName(profile ?? (env['TALLY_PROFILE'] || DEFAULT_PROFILE))

async function logIn(options: GlobalOptions, context: CliContext): Promise<void> {
  const { env, signal } = context
  const printer = makePrinter(context, options)
  const name = nameOf(options, context)
  const given = options.url ?? env['TALLY_URL']
  if (given === undefined || given === '') throw new UsageError('--url is missing, the address of Tally')
  const url = readUrl(given, ADDRESS)
  if (url.startsWith('http:') && !LOCAL.test(url))
    printer.note(`${url} is not https: everybody on the way can read the key`)
  const named = options.keyFile === undefined ? undefined : typedPath(options.keyFile, env)
  const apiKey =
    named === undefined
      ? requireKey(await readSecret(`API key for ${url}: `, context), 'standard input')
      : await readKeyFile(named)
  const client = new Tally({ url, apiKey })
  try {
    const { company, api_key: key } = await client.caller.get({ signal })
    const keyFile = named ?? newKeyFile(env, name)
    if (named === undefined) await writePrivate(keyFile, `${apiKey}\n`)
    await writeProfile(env, name, { url, company: company.name, mode: company.mode, keyFile })
    printer.note(`profile ${name}: key ${key.name} of the ${company.mode} company ${company.name} at ${url}`)
  } finally {
    client.close()
  }
}
