/**
 * Something outside the program prevents a start or stops it: a port in use, a folder in use, an engine out of reach.
 * Its message is one line and says what to do; it is shown without a stack.
 */
export class StartupError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StartupError'
  }
}
