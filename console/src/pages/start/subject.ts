/** What an event is about. */
export interface Subject {
  accountId: string
  metricId: string
}
