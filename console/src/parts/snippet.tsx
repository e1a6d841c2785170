import './snippet.css'
import { CopyButton } from './id.tsx'

/** A command or another text to copy. @param label says what is copied */
export function Snippet({ text, label }: { text: string; label: string }) {
  return (
    <div className="snippet">
      <pre className="snippet__text">{text}</pre>
      <CopyButton text={text} label={label}>
        Copy
      </CopyButton>
    </div>
  )
}
