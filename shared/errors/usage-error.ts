/** An error for wrong arguments of a command. The message says which argument is wrong, and why. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

/** Whether an error is a UsageError, or an error of Node's parseArgs. */
export const isUsageError = (err: unknown): err is Error =>
  err instanceof UsageError ||
  (err instanceof TypeError && 'code' in err && String(err.code).startsWith('ERR_PARSE_ARGS'))

/**
 * A hint for the error message when a command got no option. The reason may be npm: it takes options before `--` for
 * itself, without a message.
 *
 * @param args the arguments that the command got
 * @param example a call of the command: `npm run import -- --file …`
 */
export const npmHint = (args: readonly string[], example: string): string =>
  args.some((arg) => arg.startsWith('-')) ? '' : ` (with npm, options come after --: ${example})`
