import { useEffect, useState, useSyncExternalStore } from 'react'

/** Calls back for each key that is pressed anywhere on the page. */
export function useKeydown(onKey: (event: KeyboardEvent) => void): void {
  useEffect(() => {
    document.addEventListener('keydown', onKey)
    return () => {
      document.removeEventListener('keydown', onKey)
    }
  })
}

/** Calls back when the part of the page is gone. @param onGone that of the first rendering is called */
export function useWhenGone(onGone: () => void): void {
  const [first] = useState(() => onGone)
  useEffect(() => first, [first])
}

/** Returns a value once it has been the same for a while. */
export function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => {
      setSettled(value)
    }, ms)
    return () => {
      clearTimeout(timer)
    }
  }, [value, ms])
  return settled
}

/** Has the browser ask before the page is left, while something that was typed is not saved. */
export function useLeaveWarning(isNeeded: boolean): void {
  useEffect(() => {
    const warn = (event: BeforeUnloadEvent) => {
      if (isNeeded) event.preventDefault()
    }
    window.addEventListener('beforeunload', warn)
    return () => {
      window.removeEventListener('beforeunload', warn)
    }
  }, [isNeeded])
}

const TICK_MS = 1_000

const everyTick = (listener: () => void): (() => void) => {
  const timer = setInterval(listener, TICK_MS)
  return () => {
    clearInterval(timer)
  }
}

/** The time of this machine in whole seconds, for what is said to be so many seconds old. */
export const useSecond = (): number => useSyncExternalStore(everyTick, () => Math.floor(Date.now() / TICK_MS))
