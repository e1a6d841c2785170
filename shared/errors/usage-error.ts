/** The words of a command line make no sense; its message says which and why. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

/** Ours, or that of node's parseArgs. */
export const isUsageError = (err: unknown): err is Error =>
  err instanceof UsageError ||
  (err instanceof TypeError && 'code' in err && String(err.code).startsWith('ERR_PARSE_ARGS'))

/**
 * What to add to a complaint when no option arrived: npm keeps those that stand before `--` to itself, in silence.
 *
 * @param args the words that arrived
 * @param example how the command is called: `npm run import -- --file …`
 */
export const npmHint = (args: readonly string[], example: string): string =>
  args.some((arg) => arg.startsWith('-')) ? '' : ` (with npm, options come after --: ${example})`
