let failed = false

/** Called by the reporter, which gets the results of all files from all processes. */
export const noteFailure = (): void => {
  failed = true
}

export const hasFailed = (): boolean => failed
