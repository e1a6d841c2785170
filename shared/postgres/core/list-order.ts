import type { ListOrder } from '../../domain/page.ts'

/** The direction of the columns of an order, and how an item compares with the item before it. */
export interface SqlOfOrder {
  direction: 'ASC' | 'DESC'
  isAfter: '>' | '<'
}

/** The SQL for the orders of a list. */
export const SQL_OF_ORDER: Readonly<Record<ListOrder, SqlOfOrder>> = {
  oldest: { direction: 'ASC', isAfter: '>' },
  newest: { direction: 'DESC', isAfter: '<' },
}
