import type { Schema } from '../../api/contract.ts'
import { METRIC_CHANGES } from '../../api/queries/metrics.ts'
import { useWrite } from '../../api/use-write.ts'
import { FormDialog } from '../../parts/form.tsx'

/** Archives a metric, or brings it back. */
export function ArchiveMetricDialog({ metric, onClose }: { metric: Schema<'Metric'>; onClose: () => void }) {
  const isArchived = metric.archived_at !== null
  const write = useWrite<Schema<'Metric'>>(METRIC_CHANGES, onClose)
  return (
    <FormDialog
      heading={isArchived ? 'Bring this metric back' : 'Archive this metric'}
      write={write}
      request={{
        method: 'POST',
        target: `/v2/metrics/${metric.id}/${isArchived ? 'unarchive' : 'archive'}`,
      }}
      names={[]}
      submit={isArchived ? 'Bring it back' : 'Archive it'}
      isTouched={false}
      onClose={onClose}
    >
      <p>
        {isArchived
          ? 'It is offered again wherever a metric is chosen.'
          : 'It is no longer offered for new things. What was counted stays, usage that is reported late still counts, and it can be brought back.'}
      </p>
    </FormDialog>
  )
}
