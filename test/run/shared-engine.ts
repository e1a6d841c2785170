/** An engine of the run, as its processes are told of it. */
export interface Shared<Facts> {
  facts: Facts
  /** Everything it wrote so far. */
  output?: () => string
  end(): Promise<void>
}
