import { visibleJson } from '../format/visible-text.ts'
import { Snippet } from './snippet.tsx'

/** An answer as JSON, to read and to copy. */
export function JsonBlock({ value, label }: { value: unknown; label: string }) {
  return <Snippet text={visibleJson(value)} label={label} />
}
