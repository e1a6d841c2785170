import './id.css'
import { useState } from 'react'
import { visibleText } from '../format/visible-text.ts'
import { copyText } from './copy-text.ts'
import { Icon } from './icon.tsx'

/** An id, with a button that copies it. */
export function Id({ value }: { value: string }) {
  return (
    <span className="id">
      <bdi className="id__text">{visibleText(value)}</bdi>
      <CopyButton text={value} label={`Copy ${visibleText(value)}`} />
    </span>
  )
}

const SHOWN_MS = 1_500
const MARKS = { ready: 'copy', copied: 'done', refused: 'close' } as const
const WORDS = { ready: undefined, copied: 'Copied', refused: 'Not copied' }

/** A button that copies a text. @param label says what is copied */
export function CopyButton({ text, label, children }: { text: string; label: string; children?: string }) {
  const [state, setState] = useState<'ready' | 'copied' | 'refused'>('ready')
  const copy = () => {
    copyText(text).then(
      () => setState('copied'),
      () => setState('refused'),
    )
    setTimeout(() => setState('ready'), SHOWN_MS)
  }
  const isMark = children === undefined
  return (
    <button
      type="button"
      className={isMark ? 'copy copy--mark' : 'copy'}
      aria-label={isMark ? label : undefined}
      title={label}
      onClick={copy}
    >
      {isMark ? <Icon name={MARKS[state]} /> : (WORDS[state] ?? children)}
      {state === 'copied' && (
        <span role="status" className="hidden">
          copied
        </span>
      )}
    </button>
  )
}
