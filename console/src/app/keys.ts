import { useSyncExternalStore } from 'react'
import type { Schema } from '../api/contract.ts'

/** A key that was typed in this tab, and what Tally said about it. */
export interface SignedIn {
  key: string
  caller: Schema<'Caller'>
}

interface Keys {
  all: readonly SignedIn[]
  /** The id of the key in use. */
  active: string | undefined
  /** Why the last key is gone, for the sign-in. */
  lost: string | undefined
}

const NOBODY: Keys = { all: [], active: undefined, lost: undefined }
const ITEM = 'tally.keys'
const CHANNEL = 'tally.signed-out'

const listeners = new Set<() => void>()
const switchListeners = new Set<() => void>()
/** Tells other tabs the id of a key that is to be forgotten. The key itself never leaves its tab this way. */
const channel = new BroadcastChannel(CHANNEL)
let keys = readKeys()

channel.onmessage = ({ data }: MessageEvent<unknown>) => {
  if (typeof data === 'string') drop(data, undefined)
}

/** The storage of a tab ends with the tab, and other tabs cannot read it. */
function readKeys(): Keys {
  try {
    return { ...NOBODY, ...(JSON.parse(sessionStorage.getItem(ITEM) ?? '{}') as Partial<Keys>) }
  } catch {
    return NOBODY
  }
}

function set(changed: Keys): void {
  const isSwitched = changed.active !== keys.active
  keys = changed
  if (keys.all.length === 0) sessionStorage.removeItem(ITEM)
  else sessionStorage.setItem(ITEM, JSON.stringify({ all: keys.all, active: keys.active }))
  for (const listener of listeners) listener()
  if (isSwitched) for (const listener of switchListeners) listener()
}

/** Calls back whenever another key is in use, or none, so that nothing of the company before is kept. */
export function onSwitch(listener: () => void): void {
  switchListeners.add(listener)
}

const idOf = ({ caller }: SignedIn): string => caller.api_key.id

/** Signs a company in, and shows it from now on. */
export function signIn(signedIn: SignedIn): void {
  const others = keys.all.filter((other) => idOf(other) !== idOf(signedIn))
  set({ all: [...others, signedIn], active: idOf(signedIn), lost: undefined })
}

/** Shows another company that is signed in. */
export function activate(id: string): void {
  set({ ...keys, active: id })
}

/** Forgets a key in this tab. @param why shown at the sign-in, if something is to be said */
function drop(id: string, why: string | undefined): void {
  const all = keys.all.filter((one) => idOf(one) !== id)
  if (all.length === keys.all.length) return
  set({ all, active: keys.active === id ? undefined : keys.active, lost: why })
}

/** Forgets a key because Tally refuses it. */
export function dropRefused(id: string): void {
  drop(id, 'This key is not valid any more. It expired or was revoked.')
}

/** Forgets a key in all tabs. */
export function signOut(id: string): void {
  drop(id, undefined)
  channel.postMessage(id)
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useKeys = (): Keys => useSyncExternalStore(subscribe, () => keys)

/** The key in use; undefined when nobody is signed in. */
export const activeOf = ({ all, active }: Keys): SignedIn | undefined =>
  all.find((one) => idOf(one) === active)
