import { Component, type ReactNode } from 'react'
import { Notice, Problem } from './problem.tsx'

/** Keeps a fault of what it contains from the rest of the page. */
export class Boundary extends Component<{ children: ReactNode }, { error: Error | undefined }> {
  override state: { error: Error | undefined } = { error: undefined }

  static getDerivedStateFromError(error: Error) {
    return { error }
  }

  override render() {
    const { error } = this.state
    if (error === undefined) return this.props.children
    if (isMissingFile(error))
      return (
        <Notice tone="warn">
          <span>A part of this page could not be loaded. Tally may have been updated.</span>
          <button type="button" className="button" onClick={() => window.location.reload()}>
            Reload
          </button>
        </Notice>
      )
    return <Problem error={error} onAgain={() => this.setState({ error: undefined })} />
  }
}

/** Browsers say in different words that a file of the page is gone. */
const isMissingFile = ({ message }: Error): boolean =>
  /dynamically imported module|module script|preload CSS/i.test(message)
