/** Makes a file that is checked in of others that are. Paths are those within the project, with `/`. */
export interface Maker {
  file: string
  /** All that the file is made of, what makes it included: when none of them changed, neither does the file. */
  sources: readonly string[]
  /** @returns the content of the file */
  make: () => Promise<string>
}
