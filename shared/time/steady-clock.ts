/**
 * Milliseconds that also pass while the process or the whole machine sleeps, and never go back. Node's monotonic
 * clock stops while a machine is suspended. The wall clock does not, but it may be set. The larger step of the two
 * counts, so this clock runs fast rather than slow.
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
