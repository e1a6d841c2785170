/** Generates a checked-in file from other checked-in files. Paths are relative to the project's root, with `/`. */
export interface Maker {
  file: string
  /**
   * All files that the result depends on, including the maker's own code. If no file changes, the result does not
   * change.
   */
  sources: readonly string[]
  /** @returns the content of the file */
  make: () => Promise<string>
}
