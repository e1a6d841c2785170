let failed = false

/** Told by the reporter, which hears of every file, whichever process runs it. */
export const noteFailure = (): void => {
  failed = true
}

export const hasFailed = (): boolean => failed
