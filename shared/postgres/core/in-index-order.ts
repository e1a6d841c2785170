import type { Queryable } from './pool.ts'

const PREFER_INDEX_ORDER = `
  SET LOCAL enable_sort = off;
  SET LOCAL seq_page_cost = 0;
  SET LOCAL random_page_cost = 0`

/**
 * Makes PostgreSQL read a page of a list from the index that has the filter and the order of the list. So every page
 * costs the same. It must run within a transaction that only reads a list.
 *
 * Without this setting, PostgreSQL reads and sorts the whole rest of the list when it has no statistics of a table that
 * has just grown. It also scans the whole list for a filter that it expects to be common and evenly spread. Because
 * disk pages cost nothing here, PostgreSQL plans by the number of rows alone.
 */
export const readInIndexOrder = (db: Queryable) => db.query(PREFER_INDEX_ORDER)
