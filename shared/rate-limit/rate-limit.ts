/** How a caller stands after it has used some of what it may. */
export interface Standing {
  /** False when it asked for more than was left. */
  isWithin: boolean
  /** What is left in this window of time. */
  remaining: number
  /** Whole seconds until the window ends, at least 1. */
  resetS: number
}

/** So much of something in each window of time, for each caller. */
export interface RateLimit {
  /** What is counted: `requests`, `events`. */
  name: string
  quota: number
  windowS: number
  use(caller: string, points: number): Promise<Standing>
}
