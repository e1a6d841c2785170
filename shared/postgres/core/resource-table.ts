import { type Changes, isUnchanged } from '../../domain/changes.ts'
import { type Page, pageOf, type PageRequest, unknownCursor } from '../../domain/page.ts'
import { sortNameOf } from '../../domain/sort-name.ts'
import { DomainError, type ErrorCode } from '../../errors/domain-error.ts'
import { lockCreation } from '../locks/creation-lock.ts'
import { readInIndexOrder } from './in-index-order.ts'
import { SQL_OF_ORDER } from './list-order.ts'
import type { Queryable } from './pool.ts'
import { setOnce, unset } from './set-once.ts'
import { isUniqueViolation } from './violations.ts'

/** A table of resources. Each resource is a row, with an id and the times of its creation and last change. */
export interface ResourceTable<T> {
  name: string
  /** The resource's name in errors. */
  noun: string
  /** The column of each field. A row is used as the resource, without conversion. */
  columns: Readonly<Record<keyof T & string, string>>
}

interface Identified {
  id: string
}

/** Makes the list of columns of a SELECT or RETURNING whose rows are resources. */
export const fieldsOf = <T>({ columns }: Pick<ResourceTable<T>, 'columns'>): string =>
  Object.entries(columns)
    .map(([field, column]) => `${String(column)} AS "${field}"`)
    .join(', ')

const isRow = ({ columns }: { columns: { id: string } }): string => `namespace_id = $1 AND ${columns.id} = $2`

/** Returns the first row of a statement whose rows are resources. */
export async function firstRow<T extends object>(
  db: Queryable,
  text: string,
  values: unknown[],
): Promise<T | undefined> {
  const { rows } = await db.query<T>(text, values)
  return rows[0]
}

/** @param lock the lock on the row, which this transaction holds until it ends */
export const findRow = <T extends Identified>(
  db: Queryable,
  table: ResourceTable<T>,
  namespaceId: string,
  id: string,
  lock: RowLock = '',
): Promise<T | undefined> =>
  firstRow<T>(db, `SELECT ${fieldsOf(table)} FROM ${table.name} WHERE ${isRow(table)} ${lock}`, [
    namespaceId,
    id,
  ])

/** Finds the resource with this external id; undefined when there is none. */
export const findByExternalId = <T extends Identified & { externalId: string | null }>(
  db: Queryable,
  table: ResourceTable<T>,
  namespaceId: string,
  externalId: string,
): Promise<T | undefined> =>
  firstRow<T>(
    db,
    `SELECT ${fieldsOf(table)} FROM ${table.name} WHERE namespace_id = $1 AND external_id = $2`,
    [namespaceId, externalId],
  )

/**
 * Lists the rows with these ids, in order of creation. Unknown ids are absent. Rows are locked in this order, so that
 * two transactions that lock the same rows do not deadlock.
 */
export async function listRowsByIds<T extends Identified>(
  db: Queryable,
  table: ResourceTable<T>,
  namespaceId: string,
  ids: readonly string[],
  lock: RowLock = '',
): Promise<T[]> {
  const { name, columns } = table
  const { rows } = await db.query<T>(
    `SELECT ${fieldsOf(table)} FROM ${name} WHERE namespace_id = $1 AND ${columns.id} = ANY ($2)
    ORDER BY created_at, ${columns.id} ${lock}`,
    [namespaceId, ids],
  )
  return rows
}

/**
 * A lock on a row. With FOR SHARE, other transactions cannot change the row. With FOR UPDATE, they cannot lock it
 * either.
 */
type RowLock = '' | 'FOR SHARE' | 'FOR UPDATE'

/**
 * Inserts a row.
 *
 * @param resource the initial fields
 * @param others columns that belong to no field
 * @throws DomainError conflict when another resource has the external id
 */
export async function insertRow<T extends Identified>(
  db: Queryable,
  table: ResourceTable<T>,
  namespaceId: string,
  resource: NoInfer<Partial<T>>,
  others: object = {},
): Promise<T> {
  const row = rowOf(table, resource, others)
  const columns = Object.keys(row).join(', ')
  const text = `
    INSERT INTO ${table.name} (namespace_id, ${columns}, created_at, updated_at)
    SELECT $1, ${columns}, at, at
    FROM clock_timestamp() AS at, (SELECT ${columns} FROM jsonb_populate_record(NULL::${table.name}, $2)) AS r
    RETURNING ${fieldsOf(table)}`
  try {
    return (await firstRow<T>(db, text, [namespaceId, JSON.stringify(row)])) as T
  } catch (err) {
    throw explainTaken(err, table, 'conflict')
  }
}

/**
 * Inserts a row, within a transaction. Rows of a namespace are created one after the other, so that a reader that
 * follows a list in order of creation misses none.
 *
 * @param others columns that belong to no field
 * @throws DomainError conflict when another resource has the external id
 */
export async function insertInOrder<T extends Identified>(
  db: Queryable,
  table: ResourceTable<T>,
  namespaceId: string,
  resource: NoInfer<Partial<T>>,
  others: object = {},
): Promise<T> {
  await lockCreation(db, table.name, namespaceId)
  return insertRow(db, table, namespaceId, resource, others)
}

/**
 * Changes the given fields. Two changes of different fields at the same time both take effect.
 *
 * @param others columns that belong to no field
 * @returns the resource, undefined when there is none
 * @throws DomainError unprocessable when another resource has the external id
 */
export async function updateRow<T extends Identified>(
  db: Queryable,
  table: ResourceTable<T>,
  namespaceId: string,
  id: string,
  changes: NoInfer<Changes<T>>,
  others: object = {},
): Promise<T | undefined> {
  if (isUnchanged(changes)) return findRow(db, table, namespaceId, id)
  const row = rowOf(table, changes, others)
  const columns = Object.keys(row).join(', ')
  const text = `
    UPDATE ${table.name} SET
      (${columns}) = (SELECT ${columns} FROM jsonb_populate_record(NULL::${table.name}, $3)),
      updated_at = clock_timestamp()
    WHERE ${isRow(table)}
    RETURNING ${fieldsOf(table)}`
  try {
    return await firstRow<T>(db, text, [namespaceId, id, JSON.stringify(row)])
  } catch (err) {
    throw explainTaken(err, table, 'unprocessable')
  }
}

/**
 * Sets updated_at because something that belongs to a resource has changed.
 * @returns the resource, undefined when there is none
 */
export const touchRow = <T extends Identified>(
  db: Queryable,
  table: ResourceTable<T>,
  namespaceId: string,
  id: string,
): Promise<T | undefined> => setRow(db, table, 'updated_at = clock_timestamp()', namespaceId, id)

/** Finds, archives and unarchives resources. */
export const findingAndArchiving = <T extends Identified>(db: Queryable, table: ResourceTable<T>) => ({
  find: (namespaceId: string, id: string) => findRow(db, table, namespaceId, id),

  /**
   * Archives a resource. Archiving it again keeps the first time. @returns the resource, undefined when there is none
   */
  archive: (namespaceId: string, id: string) => setRow(db, table, setOnce('archived_at'), namespaceId, id),

  /** Unarchives a resource. @returns the resource, undefined when there is none */
  unarchive: (namespaceId: string, id: string) => setRow(db, table, unset('archived_at'), namespaceId, id),
})

/**
 * Lists a page in order of creation, the oldest or the newest first.
 *
 * @param filter values of columns; undefined values do not filter. Each combination of filters is a statement of its
 *   own, and has its index
 * @param search lists only rows whose search_text contains the text in its search form (searchTextOf). It has no index:
 *   the list is read until the page is full
 * @throws DomainError malformed when startingAfter is not in the namespace
 */
export async function listRows<T extends Identified>(
  db: Queryable,
  table: ResourceTable<T>,
  namespaceId: string,
  filter: Readonly<Record<string, string | undefined>>,
  { limit, startingAfter, order = 'oldest' }: PageRequest,
  search?: string,
): Promise<Page<T>> {
  const { name, columns } = table
  const { direction, isAfter } = SQL_OF_ORDER[order]
  const wanted = Object.entries(filter).filter(([, value]) => value !== undefined)
  const values: unknown[] = [namespaceId, limit + 1, ...wanted.map(([, value]) => value)]
  const conditions = wanted.map(([column], nth) => `${column} = $${nth + 3}`)
  if (search !== undefined) conditions.push(isFoundBy(`$${values.push(search)}`))
  if (startingAfter !== undefined) {
    if ((await findRow(db, table, namespaceId, startingAfter)) === undefined) throw unknownCursor()
    const cursor = `$${values.push(startingAfter)}`
    conditions.push(`(created_at, ${columns.id}) ${isAfter}
      (SELECT created_at, ${columns.id} FROM ${name} WHERE namespace_id = $1 AND ${columns.id} = ${cursor})`)
  }
  await readInIndexOrder(db)
  const { rows } = await db.query<T>(
    `SELECT ${fieldsOf(table)} FROM ${name}
    WHERE ${['namespace_id = $1', ...conditions].join(' AND ')}
    ORDER BY created_at ${direction}, ${columns.id} ${direction} LIMIT $2`,
    values,
  )
  return pageOf(rows, limit)
}

/** The columns without case, of a name and an external id that are given; undefined stays as it is. */
export const sortColumnsOf = ({
  name,
  externalId,
}: {
  name?: string | undefined
  externalId?: string | null | undefined
}) => ({
  sort_name: name === undefined ? undefined : sortNameOf(name),
  sort_external_id: typeof externalId === 'string' ? sortNameOf(externalId) : externalId,
})

/**
 * The condition that a row is found by a text. Why strpos: in a pattern, some characters would have a meaning.
 *
 * @param parameter the parameter with the text in its search form; see searchTextOf
 */
export const isFoundBy = (parameter: string): string => `strpos(search_text, ${parameter}) > 0`

/** @param code the code of the error when another resource has the external id */
export const explainTaken = (
  err: unknown,
  { name, noun }: Pick<ResourceTable<unknown>, 'name' | 'noun'>,
  code: ErrorCode,
): unknown =>
  isUniqueViolation(err, `${name}_external_id`)
    ? new DomainError(code, `external_id: another ${noun} has it`, { cause: err })
    : err

function setRow<T extends Identified>(
  db: Queryable,
  table: ResourceTable<T>,
  assignments: string,
  namespaceId: string,
  id: string,
): Promise<T | undefined> {
  const text = `UPDATE ${table.name} SET ${assignments} WHERE ${isRow(table)} RETURNING ${fieldsOf(table)}`
  return firstRow<T>(db, text, [namespaceId, id])
}

/** Returns the values by column, without undefined values. */
function rowOf<T>({ columns }: ResourceTable<T>, fields: Partial<T>, others: object): object {
  const byColumn = Object.entries(fields).map(([field, value]) => [columns[field as keyof T & string], value])
  return Object.fromEntries(
    [...byColumn, ...Object.entries(others)].filter(([, value]) => value !== undefined),
  ) as object
}
