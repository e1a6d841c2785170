import './shortcuts.css'
import { useClient } from '../api/client.ts'
import { Dialog } from '../parts/dialog.tsx'
import { type MenuEntry, menuOf } from './menu.ts'

/** Whether a key that is pressed here is text that is typed. */
export const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  target.closest('input:not([type=radio]), textarea, select, dialog') !== null

const shortcutsOf = (entries: readonly MenuEntry[]) => [
  { keys: '/ or Ctrl-K', does: 'search' },
  ...entries.map(({ letter, label }) => ({ keys: `g ${letter}`, does: label })),
  { keys: '?', does: 'this list' },
  { keys: 'Escape', does: 'close what is open' },
  { keys: '← → Home End', does: 'in a plot: move from day to day' },
]

/** Lists all shortcuts. */
export function ShortcutsDialog({ onClose }: { onClose: () => void }) {
  const shortcuts = shortcutsOf(menuOf(useClient()))
  return (
    <Dialog heading="Keyboard" onClose={onClose}>
      <dl className="dialog__body shortcuts">
        {shortcuts.map(({ keys, does }) => (
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
