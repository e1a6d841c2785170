/** The data of an engine that the processes of the run get. */
export interface Shared<Facts> {
  facts: Facts
  /** All its output so far. */
  output?: () => string
  end(): Promise<void>
}
