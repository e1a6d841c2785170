import type { Queryable } from '../../shared/postgres/core/pool.ts'

/** A step of a plan, as EXPLAIN writes it. */
interface PlanNode {
  'Node Type': string
  'Index Name'?: string
  'Actual Rows': number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}

/** Something that runs statements as they are, and keeps the plan by which each was carried out. */
export interface Explaining {
  db: Queryable
  /** The steps of each plan, outermost first. */
  plans: PlanNode[][]
}

/** Puts an EXPLAIN in front of what a repository asks, so that its own statements are looked at and no copy of them. */
export function explaining(db: Queryable): Explaining {
  const plans: PlanNode[][] = []
  const query = async (text: string, values: unknown[]) => {
    if (!text.trimStart().startsWith('SELECT')) return db.query(text, values)
    const { rows } = await db.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
      values,
    )
    for (const { 'QUERY PLAN': plan } of rows) plans.push(stepsOf(plan[0].Plan))
    return db.query(text, values)
  }
  return { db: { query } as unknown as Queryable, plans }
}

const stepsOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(stepsOf)]
