import type { Command } from './command.ts'
import { analysts } from './commands/analysts.ts'
import { audit } from './commands/audit.ts'
import { backup } from './commands/backup.ts'
import { companies } from './commands/companies.ts'
import { deadLetters } from './commands/dead-letters.ts'
import { doctor } from './commands/doctor.ts'
import { keys } from './commands/keys.ts'
import { rebuild } from './commands/rebuild.ts'
import { trail } from './commands/trail.ts'

/** Every maintenance command. */
export const COMMANDS: readonly Command[] = [
  analysts,
  audit,
  backup,
  companies,
  deadLetters,
  doctor,
  keys,
  rebuild,
  trail,
]
