import { CHECK_CONFIG_HELP } from '../../shared/config/check-settings.ts'
import { npmHint } from '../../shared/errors/usage-error.ts'
import type { Command } from './command.ts'

/** The lines that `npm run COMMAND -- --help` prints. */
export const helpOf = ({ name, about, usage, notes = [] }: Command): string[] => [
  `npm run ${name}: ${about}`,
  '',
  ...usage.map((form, index) => `${index === 0 ? 'usage:' : '      '} npm run ${form}`),
  '',
  ...notes,
  CHECK_CONFIG_HELP,
  '',
  'Exit codes: 0 success, 1 the command failed or found a fault, 2 the arguments are not valid.',
]

/** Whether help was asked for. */
export const wantsHelp = (args: readonly string[]): boolean =>
  args.some((arg) => arg === '--help' || arg === '-h')

/** Makes the hint after an error in the arguments. npm may have taken options of the command for its own options. */
export function adviceOn({ name, usage }: Command, args: readonly string[]): string {
  const [action = ''] = args
  const form = usage.find(
    (text) => text.startsWith(`${name} -- ${action} `) && text.includes('--', name.length + 4),
  )
  const hint = form === undefined ? '' : npmHint(args, `npm run ${form}`)
  return `${hint}\nSee npm run ${name} -- --help.`
}
