import { randomBytes } from 'node:crypto'
import type { Queryable } from './core/pool.ts'

const INSERT = 'INSERT INTO installation_secrets (name, secret) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING'
const FIND = 'SELECT secret FROM installation_secrets WHERE name = $1'

/** Returns a secret of 32 bytes that only the processes on this database have. The first process that asks makes it. */
export async function installationSecret(db: Queryable, name: string): Promise<Buffer> {
  await db.query(INSERT, [name, randomBytes(32)])
  const { rows } = await db.query<{ secret: Buffer }>(FIND, [name])
  const [row] = rows
  if (row === undefined) throw new Error(`the secret ${name} is gone from installation_secrets`)
  return row.secret
}
