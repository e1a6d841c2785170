/** What an event is about. */
export interface Subject {
  accountId: string
  metricId: string
}

/** An event of the first steps: what it is about, and when it occurred, in Unix seconds. Both stand in the address. */
export interface FirstEvent extends Subject {
  at: number
}
