import { beGreedy, type Greed } from './greedy.ts'

/** A greedy company in a process of its own: it is sent what it wants, then that it is over, and answers what it got. */
const over = new AbortController()
process.on('message', (message: Greed | 'over') => {
  if (message === 'over') over.abort()
  else
    void beGreedy(message, over.signal).then((answered) => {
      process.send?.(answered)
      process.disconnect()
    })
})
