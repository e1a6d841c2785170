import './icon.css'

const PATHS = {
  copy: 'M5.5 5.5V3a1 1 0 0 1 1-1H13a1 1 0 0 1 1 1v6.5a1 1 0 0 1-1 1h-2.5M3 5.5h6.5a1 1 0 0 1 1 1V13a1 1 0 0 1-1 1H3a1 1 0 0 1-1-1V6.5a1 1 0 0 1 1-1Z',
  done: 'm3 8.5 3.5 3.5L13 4.5',
  close: 'm3.5 3.5 9 9m0-9-9 9',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.5-1.5L14 14',
  menu: 'M2 4h12M2 8h12M2 12h12',
  theme: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 2v12m2-11.6v11.2m2-9.9v8.6',
} as const

/** A small drawing in the colour of the text around it. What it means is said by the label of its button. */
export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}
