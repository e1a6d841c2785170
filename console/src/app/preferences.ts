import { useSyncExternalStore } from 'react'
import type { Zone } from '../format/time.ts'

export type Theme = 'system' | 'light' | 'dark'

/** How this person wants to see things, in all tabs. It says nothing about a company. */
interface Preferences {
  theme: Theme
  zone: Zone
}

const ITEM = 'tally.preferences'
const DEFAULTS: Preferences = { theme: 'system', zone: 'utc' }

const listeners = new Set<() => void>()
let preferences = readPreferences()

function readPreferences(): Preferences {
  try {
    const { theme, zone } = JSON.parse(localStorage.getItem(ITEM) ?? '{}') as Partial<Preferences>
    return {
      theme: theme === 'light' || theme === 'dark' ? theme : 'system',
      zone: zone === 'local' ? 'local' : 'utc',
    }
  } catch {
    return DEFAULTS
  }
}

/** Puts the theme where the styles look for it. */
export function applyTheme(): void {
  const { theme } = preferences
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
}

export function prefer(changes: Partial<Preferences>): void {
  preferences = { ...preferences, ...changes }
  localStorage.setItem(ITEM, JSON.stringify(preferences))
  applyTheme()
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const usePreferences = (): Preferences => useSyncExternalStore(subscribe, () => preferences)
