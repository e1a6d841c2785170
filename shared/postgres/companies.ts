import type { Mode } from '../domain/api-key.ts'
import { DomainError } from '../errors/domain-error.ts'
import type { Queryable } from './core/pool.ts'
import { isUniqueViolation } from './core/violations.ts'

/** A customer of Tally, and its current namespace. */
export interface Company {
  id: string
  name: string
  mode: Mode
  namespaceId: string
  createdAt: Date
}

interface CompanyRow {
  company_id: string
  name: string
  mode: Mode
  namespace_id: string
  created_at: Date
}

const INSERT = 'INSERT INTO companies (company_id, name, mode) VALUES ($1, $2, $3)'
const INSERT_NAMESPACE = 'INSERT INTO namespaces (namespace_id, company_id) VALUES ($1, $2)'
// The statement itself is limited to test companies, because a live company must never lose its rows.
const RETIRE = `
  UPDATE namespaces n SET retired_at = clock_timestamp(), empty_again_at = clock_timestamp()
  FROM companies c
  WHERE n.company_id = $1 AND n.retired_at IS NULL AND c.company_id = n.company_id AND c.mode = 'test'
  RETURNING n.retired_at`
const CURRENT = `
  SELECT c.company_id, c.name, c.mode, n.namespace_id, c.created_at FROM companies c
  JOIN namespaces n ON n.company_id = c.company_id AND n.retired_at IS NULL`
const FIND_BY_NAME = `${CURRENT} WHERE c.name = $1`
const FIND = `${CURRENT} WHERE c.company_id = $1`
const LIST = `${CURRENT} ORDER BY c.created_at, c.company_id`

export const companyRepository = (db: Queryable) => ({
  /** Inserts a company, within a transaction. @throws DomainError conflict when another company has the name */
  async insert(company: Omit<Company, 'createdAt'>): Promise<void> {
    try {
      await db.query(INSERT, [company.id, company.name, company.mode])
    } catch (err) {
      if (isUniqueViolation(err, 'companies_name_key'))
        throw new DomainError('conflict', `there is a company ${JSON.stringify(company.name)} already`, {
          cause: err,
        })
      throw err
    }
    await db.query(INSERT_NAMESPACE, [company.namespaceId, company.id])
  },

  /**
   * Within a transaction: gives a test company a new, empty namespace. The old one is emptied later.
   *
   * @returns when the old namespace was retired
   */
  async replaceNamespace(companyId: string, namespaceId: string): Promise<Date> {
    const { rows } = await db.query<{ retired_at: Date }>(RETIRE, [companyId])
    if (rows[0] === undefined) throw new Error('only a test company gets another namespace')
    await db.query(INSERT_NAMESPACE, [namespaceId, companyId])
    return rows[0].retired_at
  },

  async find(id: string): Promise<Company | undefined> {
    const { rows } = await db.query<CompanyRow>(FIND, [id])
    return rows.map(companyFromRow)[0]
  },

  async findByName(name: string): Promise<Company | undefined> {
    const { rows } = await db.query<CompanyRow>(FIND_BY_NAME, [name])
    return rows.map(companyFromRow)[0]
  },

  async list(): Promise<Company[]> {
    const { rows } = await db.query<CompanyRow>(LIST)
    return rows.map(companyFromRow)
  },
})

const companyFromRow = (row: CompanyRow): Company => ({
  id: row.company_id,
  name: row.name,
  mode: row.mode,
  namespaceId: row.namespace_id,
  createdAt: row.created_at,
})
