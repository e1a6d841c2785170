import './sql-block.css'
import type { ReactNode } from 'react'
import { Snippet } from './snippet.tsx'

/** A statement for analysts, as text to copy. @param children says what it answers */
export function SqlBlock({ sql, summary, children }: { sql: string; summary: string; children?: ReactNode }) {
  return (
    <details className="fold">
      <summary>{summary}</summary>
      {children}
      <Snippet text={sql} label="Copy this statement" />
    </details>
  )
}
