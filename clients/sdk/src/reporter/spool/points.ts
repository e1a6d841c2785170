/** The moments at which tests of faults end a reporter. */
export type ReporterPoint =
  | 'group-written'
  | 'group-synced'
  | 'group-renamed'
  | 'group-acknowledged'
  | 'batch-sent'
  | 'batch-answered'
  | 'rejected-written'
  | 'file-deleted'
  | 'files-merged'
