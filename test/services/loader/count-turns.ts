/** Counts the turns of other work on the event loop during some work. */
export async function countTurns(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  let isOver = false
  const take = () => {
    if (isOver) return
    turns++
    setImmediate(take)
  }
  setImmediate(take)
  await work()
  isOver = true
  return turns
}
