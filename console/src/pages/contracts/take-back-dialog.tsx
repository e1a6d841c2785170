import type { Schema } from '../../api/contract.ts'
import { CONTRACT_CHANGES } from '../../api/queries/contracts.ts'
import { useWrite } from '../../api/use-write.ts'
import { FormDialog } from '../../parts/form.tsx'

/** Takes a cancellation back that has not taken effect. */
export function TakeBackDialog({ contract, onClose }: { contract: Schema<'Contract'>; onClose: () => void }) {
  const write = useWrite<Schema<'Contract'>>(CONTRACT_CHANGES, onClose)
  return (
    <FormDialog
      heading="Take the cancellation back"
      write={write}
      request={{ method: 'POST', target: `/v2/contracts/${contract.id}/uncancel`, body: {} }}
      names={[]}
      submit="Take the cancellation back"
      isTouched={false}
      onClose={onClose}
    >
      <p>The contract goes on as if it had not been canceled.</p>
    </FormDialog>
  )
}
