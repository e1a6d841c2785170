import './form.css'
import { type ReactNode, useId, useState } from 'react'
import { CallError } from '../api/call.ts'
import { useClient } from '../api/client.ts'
import type { Write } from '../api/use-write.ts'
import { useLeaveWarning } from '../app/effects.ts'
import { type ApiRequest, curlOf } from '../format/curl.ts'
import { Dialog } from './dialog.tsx'
import { wordsOf } from './problem.tsx'
import { Snippet } from './snippet.tsx'

interface FieldProps {
  label: string
  /** The name of the field in the request, by which the server's errors name it. */
  name: string
  value: string
  onChange: (value: string) => void
  hint?: ReactNode
  /** What is wrong with the value, if this page can say so. */
  fault?: string | undefined
  error?: Error | null
  isRequired?: boolean
  isMono?: boolean
  maxLength?: number
  /** The lines of a field for text of several lines. */
  rows?: number
}

/** A field of text, with the server's own words below it when it refuses the value. */
export function Field(props: FieldProps) {
  const {
    label,
    name,
    value,
    onChange,
    hint,
    fault,
    error,
    isRequired = false,
    isMono = false,
    maxLength,
    rows,
  } = props
  const id = useId()
  const said = fault ?? faultOf(error, name)
  const input = {
    id,
    className: isMono ? 'input input--mono' : 'input',
    value,
    autoComplete: 'off',
    spellCheck: false,
    required: isRequired,
    maxLength,
    'aria-invalid': said !== undefined,
    'aria-describedby': `${id}-hint`,
    onChange: ({ target }: { target: { value: string } }) => {
      onChange(target.value)
    },
  }
  return (
    <div className="field">
      <label className="field__label" htmlFor={id}>
        {label}
        {!isRequired && <span className="field__optional"> optional</span>}
      </label>
      {rows === undefined ? <input {...input} /> : <textarea {...input} rows={rows} />}
      <div id={`${id}-hint`} className="field__hint">
        {said !== undefined && <p className="field__fault">{said}</p>}
        {hint}
      </div>
    </div>
  )
}

/** The server's text about a field, which begins with the name of the field. */
function faultOf(error: Error | null | undefined, name: string): string | undefined {
  if (!(error instanceof CallError) || error.status === 0) return undefined
  return isAbout(error.message, name) ? error.message : undefined
}

const isAbout = (message: string, name: string): boolean => message.startsWith(`${name}: `)

interface FormDialogProps<T> {
  heading: string
  write: Write<T>
  /** The request of what is typed; undefined while something is missing or wrong. */
  request: ApiRequest | undefined
  /** The fields that show the server's errors themselves. */
  names: readonly string[]
  submit: string
  isDangerous?: boolean
  isTouched: boolean
  onClose: () => void
  children: ReactNode
}

/** A form in a dialog. It shows the request that it makes, and asks before unsaved text is lost. */
export function FormDialog<T>(props: FormDialogProps<T>) {
  const { heading, write, request, names, submit, isDangerous = false, isTouched, onClose, children } = props
  const [isLeaving, setLeaving] = useState(false)
  useLeaveWarning(isTouched)
  const { error, isSending } = write
  const mayBeDone = error instanceof CallError && error.isUnknown
  const mayClose = () => {
    if (isSending) return false
    if ((!isTouched && !mayBeDone) || isLeaving) return true
    setLeaving(true)
    return false
  }
  const isShownAbove = error instanceof CallError && names.some((name) => isAbout(error.message, name))
  return (
    <Dialog heading={heading} onClose={onClose} mayClose={mayClose}>
      <form
        className="dialog__body form"
        onSubmit={(event) => {
          event.preventDefault()
          if (request !== undefined && !isSending) write.send(request)
        }}
      >
        {children}
        {error !== null && !isShownAbove && (
          <p className="form__error" role="alert">
            {wordsOf(error)}
          </p>
        )}
        {isLeaving && (
          <p className="form__error" role="alert">
            {mayBeDone
              ? 'This may have been done, although no answer came. Send it again, which does it once at most. Or close again, and look at the page first.'
              : 'What you typed is not saved. Close again to leave it.'}
          </p>
        )}
        <div className="form__bar">
          <button
            type="submit"
            className={isDangerous ? 'button button--bad' : 'button button--main'}
            disabled={request === undefined || isSending}
          >
            {isSending ? 'Sending…' : submit}
          </button>
          {request !== undefined && <RequestOf request={write.prepare(request)} />}
        </div>
      </form>
    </Dialog>
  )
}

function RequestOf({ request }: { request: ApiRequest }) {
  const { origin } = useClient()
  return (
    <details className="form__request">
      <summary>as curl</summary>
      <Snippet text={curlOf(origin, request)} label="Copy this request" />
    </details>
  )
}
