import { beGreedy, type Greed } from './greedy.ts'

/**
 * A greedy company in a separate process. It gets its requests, then the order to stop, and replies with its answers.
 */
const over = new AbortController()
process.on('message', (message: Greed | 'over') => {
  if (message === 'over') over.abort()
  else
    void beGreedy(message, over.signal).then((answered) => {
      process.send?.(answered)
      process.disconnect()
    })
})
