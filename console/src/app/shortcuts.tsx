import './shortcuts.css'
import { Dialog } from '../parts/dialog.tsx'
import { MENU } from './menu.ts'

/** Whether a key that is pressed here is text that is typed. */
export const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  target.closest('input:not([type=radio]), textarea, select, dialog') !== null

const SHORTCUTS = [
  { keys: '/ or Ctrl-K', does: 'search' },
  ...MENU.map(({ letter, label }) => ({ keys: `g ${letter}`, does: label })),
  { keys: '?', does: 'this list' },
  { keys: 'Escape', does: 'close what is open' },
  { keys: '← → Home End', does: 'in a plot: move from day to day' },
]

/** Lists all shortcuts. */
export function ShortcutsDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog heading="Keyboard" onClose={onClose}>
      <dl className="dialog__body shortcuts">
        {SHORTCUTS.map(({ keys, does }) => (
          <div key={keys} className="shortcuts__row">
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
