import './dialog.css'
import { type ReactNode, useId } from 'react'
import { Icon } from './icon.tsx'

interface DialogProps {
  heading: string
  onClose: () => void
  /** Asked before it is closed by Escape or the button. */
  mayClose?: () => boolean
  /** Whether it stands at the side of the page, as high as the window. */
  isDrawer?: boolean
  children: ReactNode
}

/** Opens when it is put on the page. The browser keeps the focus within, and gives it back afterwards. */
const openModal = (element: HTMLDialogElement | null): (() => void) | undefined => {
  if (element === null) return undefined
  const before = document.activeElement
  element.showModal()
  // The browser would focus the button that closes it.
  element.querySelector('input')?.focus()
  return () => {
    element.close()
    if (before instanceof HTMLElement && before.isConnected) before.focus()
  }
}

/** A dialog over the page. It is open as long as it is rendered. */
export function Dialog(props: DialogProps) {
  const { heading, onClose, mayClose = () => true, isDrawer = false, children } = props
  const id = useId()
  const close = () => {
    if (mayClose()) onClose()
  }
  return (
    <dialog
      ref={openModal}
      className={isDrawer ? 'dialog dialog--drawer' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        close()
      }}
    >
      <header className="dialog__head">
        <h2 id={id} className="dialog__heading">
          {heading}
        </h2>
        <button type="button" className="button button--bare" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  )
}
