import type { EnvReader } from '../config/env-reader.ts'

/** Called at each crash point that the work reaches. */
export type Reached<Point extends string> = (point: Point) => void

/** The crash point at which a process kills itself, and the visit to the point, counted from 1, at which it does so. */
export interface CrashAt {
  point: string
  time: number
}

const TIME_MAX = 1_000_000

/** Reads the setting by which fault tests make a process crash at a crash point; undefined in every other run. */
export function readCrashAt(read: EnvReader, points: readonly string[]): CrashAt | undefined {
  const text = read.optional('CRASH_AT', {
    about: 'for tests: POINT:N, where the process ends itself with SIGKILL the Nth time it gets there',
  })
  if (text === undefined) return undefined
  const [point = '', times = '', ...more] = text.split(':')
  const time = Number(times)
  if (points.includes(point) && /^\d+$/.test(times) && time >= 1 && time <= TIME_MAX && more.length === 0)
    return { point, time }
  read.refuse(`CRASH_AT must be POINT:N with N from 1 to ${TIME_MAX} and POINT one of ${points.join(', ')}`)
  return undefined
}

/**
 * Returns a function that ends the process with SIGKILL at the crash point of the setting. Without a setting, the
 * function does nothing.
 */
export function crashAt(setting: CrashAt | undefined): Reached<string> {
  if (setting === undefined) return () => undefined
  let left = setting.time
  return (point) => {
    if (point === setting.point && --left === 0) process.kill(process.pid, 'SIGKILL')
  }
}
