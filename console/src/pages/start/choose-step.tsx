import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useClient } from '../../api/client.ts'
import { accountListing, accountReading } from '../../api/queries/accounts.ts'
import { metricListing } from '../../api/queries/sources.ts'
import { useRead, useReadAll, useReadList } from '../../api/use-read.ts'
import { useNow } from '../../app/now.ts'
import { visibleText } from '../../format/visible-text.ts'
import { Select } from '../../parts/choice.tsx'
import { Problem } from '../../parts/problem.tsx'
import { ACCOUNT, makeAll, type Making, METRIC, newMaking } from './make-all.ts'
import { Step } from './step.tsx'
import type { Subject } from './subject.ts'

interface ChooseStepProps {
  subject: Subject | undefined
  onChoose: (subject: Subject) => void
}

/** Picks an account and a metric, or makes them. */
export function ChooseStep({ subject, onChoose }: ChooseStepProps) {
  const client = useClient()
  return (
    <Step heading="An account and a metric" isDone={subject !== undefined}>
      <p>
        Usage belongs to an <strong>account</strong>, and is counted in a <strong>metric</strong>, such as
        tokens. A <strong>grant</strong> is credit: the balance is what was granted minus what was used.
      </p>
      {client.may('read:all') && <Pick subject={subject} onChoose={onChoose} />}
      {client.may('write:all') && subject === undefined && <MakeAll onMade={onChoose} />}
    </Step>
  )
}

function Pick({ subject, onChoose }: ChooseStepProps) {
  const client = useClient()
  const accounts = useReadList(accountListing(client, { sort: 'created_at' })).data ?? []
  const metrics = (useReadAll(metricListing(client)).data ?? []).filter(({ archived_at: at }) => at === null)
  const chosen = useRead(accountReading(client, subject?.accountId ?? ''), {
    isEnabled: subject !== undefined,
  })
  const [first, firstMetric] = [accounts[0], metrics[0]]
  if (first === undefined || firstMetric === undefined) return null
  const listed = accounts.some(({ id }) => id === chosen.data?.id)
  const all = chosen.data === undefined || listed ? accounts : [chosen.data, ...accounts]
  return (
    <div className="steps__picks">
      <Select
        label="Account"
        options={[
          { value: '', label: 'choose …' },
          ...all.map(({ id, name }) => ({ value: id, label: visibleText(name) })),
        ]}
        value={subject?.accountId ?? ''}
        onChange={(accountId) => onChoose({ accountId, metricId: subject?.metricId ?? firstMetric.id })}
      />
      {subject !== undefined && (
        <Select
          label="Metric"
          options={metrics.map(({ id, name }) => ({ value: id, label: visibleText(name) }))}
          value={subject.metricId}
          onChange={(metricId) => onChoose({ ...subject, metricId })}
        />
      )}
    </div>
  )
}

function MakeAll({ onMade }: { onMade: (subject: Subject) => void }) {
  const client = useClient()
  const queries = useQueryClient()
  const now = useNow()
  // What was made before something failed is not made again, so the next try goes on from there.
  const [making] = useState<Making>(newMaking)
  const make = useMutation({
    mutationFn: () => makeAll(client, now, making),
    onSuccess: async (subject) => {
      onMade(subject)
      await queries.invalidateQueries()
    },
  })
  return (
    <>
      <p>
        <button
          type="button"
          className="button button--main"
          disabled={make.isPending}
          onClick={() => {
            make.mutate()
          }}
        >
          {make.isPending ? 'Making …' : 'Make them for me'}
        </button>{' '}
        <span className="soft">
          the account “{ACCOUNT}”, the metric “{METRIC}”, and a grant of 10,000 tokens
        </span>
      </p>
      {client.caller.company.mode === 'live' && (
        <p className="soft">
          This is a live company: what you make stays. A test company can be emptied again.
        </p>
      )}
      {make.error !== null && <Problem error={make.error} onAgain={() => make.mutate()} />}
    </>
  )
}
