/** The database of the views that analysts may read, with the usage of all companies. */
export const analyticsDatabase = (database: string): string => `${database}_analytics`
