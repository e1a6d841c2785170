import { npmHint } from '../../shared/errors/usage-error.ts'
import type { Command } from './command.ts'

/** The lines that `npm run COMMAND -- --help` prints. */
export const helpOf = ({ name, about, usage, notes = [] }: Command): string[] => [
  `npm run ${name}: ${about}`,
  '',
  ...usage.map((form, index) => `${index === 0 ? 'usage:' : '      '} npm run ${form}`),
  '',
  ...notes,
  'Exit codes: 0 done and well, 1 not done or not well, 2 the arguments are not valid.',
]

/** Whether help was asked for. */
export const wantsHelp = (args: readonly string[]): boolean =>
  args.some((arg) => arg === '--help' || arg === '-h')

/** The hint after an error in the arguments: if the command has options, npm may have taken them for its own. */
export function adviceOn({ name, usage }: Command, args: readonly string[]): string {
  const [action = ''] = args
  const form = usage.find(
    (text) => text.startsWith(`${name} -- ${action} `) && text.includes('--', name.length + 4),
  )
  const hint = form === undefined ? '' : npmHint(args, `npm run ${form}`)
  return `${hint}\nSee npm run ${name} -- --help.`
}
