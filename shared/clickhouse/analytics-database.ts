/** The database of the views of all companies. */
export const analyticsDatabase = (database: string): string => `${database}_analytics`

/** The database of the views that the analysts of one company may read. */
export const companyDatabase = (database: string, number: number): string => `${database}_company_${number}`

/**
 * How many companies may have analysts of their own on the embedded engine: it learns its roles when it starts, and one
 * for each of these is made in advance.
 */
export const EMBEDDED_COMPANIES_MAX = 256
