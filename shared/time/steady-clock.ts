/**
 * A clock in milliseconds that never goes back, and that also runs while the process or the whole machine is suspended.
 * Node's monotonic clock stops while a machine is suspended. The wall clock does not stop, but it may be set. At each
 * reading, this clock advances by the larger step of the two. So it may be too fast, but not too slow.
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
