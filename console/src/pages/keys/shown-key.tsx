import { useState } from 'react'
import type { Outcome } from '../../api/use-write.ts'
import { useLeaveWarning } from '../../app/effects.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Notice } from '../../parts/problem.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import { Name } from '../../parts/text.tsx'

/** A key that was just made. Only the state of the dialog that shows it has it. */
export interface MadeKey {
  /** The key itself; undefined when its answer was lost. */
  key: string | undefined
  name: string
  /** What the server said about the request whose answer was lost. */
  earlier: string | undefined
}

/** Takes the key out of the answer to a form. */
export const madeKey = ({ answer, earlier }: Outcome<{ key: string }>, name: string): MadeKey => ({
  key: answer?.key,
  name,
  earlier,
})

/** Shows a new key. Escape does not close it, because there is no way to see the key again. */
export function ShownKey({
  made,
  note,
  onClose,
}: {
  made: MadeKey
  note: string | undefined
  onClose: () => void
}) {
  const [isAsked, setAsked] = useState(false)
  useLeaveWarning(made.key !== undefined)
  const mayClose = () => {
    setAsked(true)
    return made.key === undefined
  }
  return (
    <Dialog heading="The new key" onClose={onClose} mayClose={mayClose}>
      <div className="dialog__body form">
        {made.key === undefined ? (
          <LostKey earlier={made.earlier ?? ''} />
        ) : (
          <Key made={made} text={made.key} />
        )}
        {note !== undefined && <p>{note}</p>}
        {isAsked && (
          <p className="form__error" role="alert">
            After this the key cannot be seen again. If you have it, close with the button below.
          </p>
        )}
        <p>
          <button type="button" className="button button--main" onClick={onClose}>
            {made.key === undefined ? 'Close' : 'I have the key'}
          </button>
        </p>
      </div>
    </Dialog>
  )
}

function Key({ made: { name }, text }: { made: MadeKey; text: string }) {
  return (
    <>
      <p>
        <strong>
          This is the only time that the key of “<Name>{name}</Name>” is shown.
        </strong>{' '}
        Tally keeps only a digest of it. Copy it to where it is used, before you leave this page: a step back
        in the browser loses it without a question.
      </p>
      <Snippet text={text} label="Copy the key" />
    </>
  )
}

function LostKey({ earlier }: { earlier: string }) {
  return (
    <Notice tone="warn">
      The key was made, but the answer with it was lost, so nobody has it. Revoke it, and make another. (
      {earlier})
    </Notice>
  )
}
