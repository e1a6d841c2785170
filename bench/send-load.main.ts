import { type Load, type LoadReply, sendLoad } from './send-load.ts'

const reply = (message: LoadReply): void => {
  process.send?.(message)
}

process.on('message', (load: Load) => {
  sendLoad(load).then(
    (result) => {
      reply({ result })
    },
    (err: unknown) => {
      reply({ failure: err instanceof Error ? err.message : String(err) })
    },
  )
})
