import type { Analyst } from '../domain/analyst.ts'
import { DomainError } from '../errors/domain-error.ts'
import type { Queryable } from './core/pool.ts'
import { isUniqueViolation } from './core/violations.ts'
import { lockCreation } from './locks/creation-lock.ts'

export interface NewAnalyst {
  id: string
  companyId: string
  name: string
  digest: Buffer
}

/** An analyst who may sign in. */
export interface ValidAnalyst {
  name: string
  digest: Buffer
  company: string
  /** The number of the company's database. */
  number: number
}

/** The database of a company that has analysts. */
export interface AnalystDatabase {
  companyId: string
  number: number
  /** The company's current namespace. */
  namespaceId: string
}

interface AnalystRow {
  analyst_id: string
  name: string
  company_id: string
  company: string
  created_at: Date
  revoked_at: Date | null
}

interface DatabaseRow {
  company_id: string
  number: number
  namespace_id: string
}

const ENTER = `
  INSERT INTO analyst_databases (company_id, number)
  SELECT $1::uuid, coalesce(max(number), 0) + 1 FROM analyst_databases
  HAVING coalesce(max(number), 0) < $2::integer
  ON CONFLICT (company_id) DO NOTHING`
const DATABASES = `
  SELECT d.company_id, d.number, n.namespace_id FROM analyst_databases d
  JOIN namespaces n ON n.company_id = d.company_id AND n.retired_at IS NULL`
const FIND_DATABASE = `${DATABASES} WHERE d.company_id = $1`
const LIST_DATABASES = `${DATABASES} ORDER BY d.number`
const LIST_OUTDATED = `${DATABASES} WHERE d.shown_namespace IS DISTINCT FROM n.namespace_id ORDER BY d.number`
const NOTE_SHOWN = `
  UPDATE analyst_databases SET shown_namespace = $2 WHERE company_id = $1 AND shown_namespace IS DISTINCT FROM $2`

const INSERT = 'INSERT INTO analysts (analyst_id, company_id, name, digest) VALUES ($1, $2, $3, $4)'
const LIST = `
  SELECT a.analyst_id, a.name, a.company_id, c.name AS company, a.created_at, a.revoked_at
  FROM analysts a JOIN companies c USING (company_id)`
const LIST_ALL = `${LIST} WHERE $1::uuid IS NULL OR a.company_id = $1 ORDER BY c.name, a.created_at, a.analyst_id`
const FIND_BY_NAME = `${LIST} WHERE a.name = $1 ORDER BY a.revoked_at DESC NULLS FIRST LIMIT 1`
const LIST_VALID = `
  SELECT a.name, a.digest, c.name AS company, d.number
  FROM analysts a JOIN companies c USING (company_id) JOIN analyst_databases d USING (company_id)
  WHERE a.revoked_at IS NULL`
const REVOKE = `
  UPDATE analysts SET revoked_at = clock_timestamp() WHERE analyst_id = $1 AND revoked_at IS NULL`

/** The databases of companies that have analysts. */
export const analystDatabaseRepository = (db: Queryable) => ({
  /**
   * Within a transaction: gives a company a database, the next one by number, unless it has one.
   *
   * @param numbersMax the highest number that there may be
   * @returns undefined when all numbers are taken
   */
  async enter(companyId: string, numbersMax: number): Promise<AnalystDatabase | undefined> {
    await lockCreation(db, 'analyst_databases', 'all')
    await db.query(ENTER, [companyId, numbersMax])
    return this.find(companyId)
  },

  async find(companyId: string): Promise<AnalystDatabase | undefined> {
    const { rows } = await db.query<DatabaseRow>(FIND_DATABASE, [companyId])
    return rows.map(databaseFromRow)[0]
  },

  /** In order of number. */
  async list(): Promise<AnalystDatabase[]> {
    const { rows } = await db.query<DatabaseRow>(LIST_DATABASES)
    return rows.map(databaseFromRow)
  },

  /** The databases whose views show another namespace than the current one, or none. */
  async listOutdated(): Promise<AnalystDatabase[]> {
    const { rows } = await db.query<DatabaseRow>({ name: 'outdated-views', text: LIST_OUTDATED })
    return rows.map(databaseFromRow)
  },

  /** Records which namespace the views of a company show now; writes nothing when that is recorded. */
  async noteShown({ companyId, namespaceId }: AnalystDatabase): Promise<void> {
    await db.query(NOTE_SHOWN, [companyId, namespaceId])
  },
})

/** Analysts of all companies. */
export const analystRepository = (db: Queryable) => ({
  /** @throws DomainError conflict when another analyst has the name */
  async insert({ id, companyId, name, digest }: NewAnalyst): Promise<void> {
    try {
      await db.query(INSERT, [id, companyId, name, digest])
    } catch (err) {
      if (!isUniqueViolation(err, 'analysts_name')) throw err
      throw analystNameTaken(name, { cause: err })
    }
  },

  /** @param companyId undefined: those of all companies */
  async list(companyId?: string): Promise<Analyst[]> {
    const { rows } = await db.query<AnalystRow>(LIST_ALL, [companyId ?? null])
    return rows.map(analystFromRow)
  },

  /** The analyst who has the name, or else the last one who had it. */
  async findByName(name: string): Promise<Analyst | undefined> {
    const { rows } = await db.query<AnalystRow>(FIND_BY_NAME, [name])
    return rows.map(analystFromRow)[0]
  },

  /** Everyone who may sign in. */
  async listValid(): Promise<ValidAnalyst[]> {
    const { rows } = await db.query<ValidAnalyst>({ name: 'valid-analysts', text: LIST_VALID })
    return rows
  },

  /** @returns whether it was valid until now */
  async revoke(id: string): Promise<boolean> {
    const { rowCount } = await db.query(REVOKE, [id])
    return rowCount === 1
  },
})

/** The error when another analyst has the name. */
export const analystNameTaken = (name: string, options?: ErrorOptions): DomainError =>
  new DomainError('conflict', `there is an analyst ${JSON.stringify(name)} already`, options)

const databaseFromRow = (row: DatabaseRow): AnalystDatabase => ({
  companyId: row.company_id,
  number: row.number,
  namespaceId: row.namespace_id,
})

const analystFromRow = (row: AnalystRow): Analyst => ({
  id: row.analyst_id,
  name: row.name,
  company: { id: row.company_id, name: row.company },
  createdAt: row.created_at,
  revokedAt: row.revoked_at,
})
