/** The state of a caller's limit after a use. */
export interface Standing {
  /** False when the caller wanted more points than were left. */
  isWithin: boolean
  /** The points that are left in this window of time. */
  remaining: number
  /** Whole seconds until the window ends, at least 1. */
  resetS: number
}

/** A quota in each window of time, for each caller. */
export interface RateLimit {
  /** The name of the limit, after what it counts: `requests`, `events`. */
  name: string
  quota: number
  windowS: number
  use(caller: string, points: number): Promise<Standing>
}
