import { useState } from 'react'
import type { ReadPath } from '../api/contract.ts'
import { ACCOUNT_CHANGES } from '../api/queries/accounts.ts'
import { METRIC_CHANGES } from '../api/queries/metrics.ts'
import { CARD_CHANGES, PRICE_CHANGES, PRODUCT_CHANGES } from '../api/queries/prices.ts'
import { useWrite } from '../api/use-write.ts'
import { FormDialog } from './form.tsx'

interface Kind {
  path: string
  changes: readonly ReadPath[]
  /** What happens when it is archived, and when it is brought back. */
  archived: string
  back: string
}

const KINDS = {
  account: {
    path: '/v2/accounts',
    changes: ACCOUNT_CHANGES,
    archived: 'It is no longer in use. Late usage still counts, and balances can be read.',
    back: 'It is in use again.',
  },
  metric: {
    path: '/v2/metrics',
    changes: METRIC_CHANGES,
    archived: 'It is no longer offered. What was counted stays, and late usage still counts.',
    back: 'It is offered again wherever a metric is chosen.',
  },
  product: {
    path: '/v2/products',
    changes: PRODUCT_CHANGES,
    archived: 'No new price can be made for it. What uses its prices goes on.',
    back: 'Prices can be made for it again.',
  },
  price: {
    path: '/v2/prices',
    changes: PRICE_CHANGES,
    archived: 'No new rate and no new line can use it. Rate cards and contracts that use it go on.',
    back: 'Rates and lines can use it again.',
  },
  'rate card': {
    path: '/v2/rate-cards',
    changes: CARD_CHANGES,
    archived: 'No other contract can follow it. Contracts that follow it go on.',
    back: 'Contracts can follow it again.',
  },
} as const satisfies Record<string, Kind>

interface ArchiveButtonProps {
  kind: keyof typeof KINDS
  id: string
  isArchived: boolean
  /** Whether it stands in a row. */
  isSmall?: boolean
}

/** Archives something, or brings it back. It says before what happens. */
export function ArchiveButton({ kind, id, isArchived, isSmall = false }: ArchiveButtonProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button
        type="button"
        className={isSmall ? 'button button--small' : 'button'}
        onClick={() => setOpen(true)}
      >
        {isArchived ? 'Bring back' : 'Archive'}
      </button>
      {isOpen && <ArchiveDialog {...{ kind, id, isArchived }} onClose={() => setOpen(false)} />}
    </>
  )
}

function ArchiveDialog({
  kind,
  id,
  isArchived,
  onClose,
}: Omit<ArchiveButtonProps, 'isSmall'> & { onClose: () => void }) {
  const { path, changes, archived, back }: Kind = KINDS[kind]
  const write = useWrite(changes, onClose)
  return (
    <FormDialog
      heading={isArchived ? `Bring this ${kind} back` : `Archive this ${kind}`}
      write={write}
      request={{ method: 'POST', target: `${path}/${id}/${isArchived ? 'unarchive' : 'archive'}` }}
      names={[]}
      submit={isArchived ? 'Bring it back' : 'Archive it'}
      isTouched={false}
      onClose={onClose}
    >
      <p>{isArchived ? back : `${archived} It can be brought back.`}</p>
    </FormDialog>
  )
}
