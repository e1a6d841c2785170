import './instant.css'
import { usePreferences } from '../app/preferences.ts'
import { instantText } from '../format/time.ts'

/** An instant to the second, in UTC or in the zone of this machine. */
export function Instant({ at }: { at: number }) {
  const { zone } = usePreferences()
  const text = instantText(at, zone)
  return (
    <time className="instant" dateTime={new Date(at * 1_000).toISOString()}>
      {text.slice(0, 10)} <span className="instant__time">{text.slice(11)}</span>
    </time>
  )
}
