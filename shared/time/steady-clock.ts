/**
 * Milliseconds that pass also while the process or the whole machine sleeps, and never go back. Node's own clock that
 * never goes back stands still while a machine is suspended; the wall clock does not, but it is set. Of each step the
 * larger one counts, so this runs fast rather than slow.
 */
export function steadyClock(
  wallMs: () => number = Date.now,
  monotonicMs: () => number = () => performance.now(),
): () => number {
  let [wall, monotonic] = [wallMs(), monotonicMs()]
  let passed = 0
  return () => {
    const [wallNow, monotonicNow] = [wallMs(), monotonicMs()]
    passed += Math.max(wallNow - wall, monotonicNow - monotonic)
    ;[wall, monotonic] = [wallNow, monotonicNow]
    return passed
  }
}
