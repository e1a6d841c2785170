/** The arguments of a command line are wrong; the message says which and why. */
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
 * A hint for the error message when no option arrived: npm silently keeps options before `--` for itself.
 *
 * @param args the arguments that arrived
 * @param example how the command is called: `npm run import -- --file …`
 */
export const npmHint = (args: readonly string[], example: string): string =>
  args.some((arg) => arg.startsWith('-')) ? '' : ` (with npm, options come after --: ${example})`
