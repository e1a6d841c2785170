/** The database of the views that analysts may read. */
export const analyticsDatabase = (database: string): string => `${database}_analytics`

/** The views that analysts may read; clickhouse/ holds their statements. */
export const ANALYTICS_VIEWS = ['events', 'daily_usage'] as const
