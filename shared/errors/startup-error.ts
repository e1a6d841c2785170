/**
 * An error whose cause is outside the program and that prevents or ends a start: a port in use, a folder in use, an
 * engine out of reach. Its message is one line and says what to do. It is shown without a stack.
 */
export class StartupError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StartupError'
  }
}
