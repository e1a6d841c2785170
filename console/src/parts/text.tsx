import './text.css'
import { visibleText } from '../format/visible-text.ts'

/** Longer text is folded. */
const SHOWN_MAX = 200

/** A short text that others wrote, within a link or a button. */
export function Name({ children }: { children: string }) {
  return <bdi className="text">{visibleText(children)}</bdi>
}

/** Text that others wrote. It cannot change the text around it, and nothing in it is hidden. */
export function Text({ children }: { children: string }) {
  // By characters: half of an emoji would be nothing.
  const characters = Array.from(children)
  if (characters.length <= SHOWN_MAX) return <Name>{children}</Name>
  return (
    <details className="text text--long">
      <summary>
        <bdi>{visibleText(characters.slice(0, SHOWN_MAX).join(''))}</bdi>…{' '}
        <span>{characters.length} characters</span>
      </summary>
      <bdi>{visibleText(children)}</bdi>
    </details>
  )
}
