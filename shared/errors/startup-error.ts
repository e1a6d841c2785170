/**
 * Something outside the program keeps it from starting or going on: a taken port, a folder in use, an engine out of
 * reach. Its message is one line and says what to do; no stack is shown for it.
 */
export class StartupError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StartupError'
  }
}
