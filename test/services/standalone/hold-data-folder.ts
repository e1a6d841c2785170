import { openDataFolder } from '../../../services/standalone/data-folder.ts'

/** A process that takes a data folder and holds it until it is killed: `node hold-data-folder.js FOLDER`. */
openDataFolder(process.argv[2] ?? '').then(
  () => {
    process.stdout.write('held\n')
    setInterval(() => undefined, 1_000)
  },
  (err: unknown) => {
    process.stdout.write(`refused: ${String(err)}\n`)
  },
)
