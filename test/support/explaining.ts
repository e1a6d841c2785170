import type { Queryable } from '../../shared/postgres/core/pool.ts'

/** A step of a plan in the output of EXPLAIN. */
interface PlanNode {
  'Node Type': string
  'Index Name'?: string
  'Actual Rows': number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}

/** Runs statements unchanged, and keeps the plan of each. */
export interface Explaining {
  db: Queryable
  /** The steps of each plan, outermost first. */
  plans: PlanNode[][]
}

/** Puts EXPLAIN before the statements of a repository, so that a test checks the real statements and not copies. */
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
