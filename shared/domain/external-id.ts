/**
 * Whether an id gets lost in URLs. Every client that builds URLs removes a path segment `.` or `..`, even if it is
 * written `%2e`. So no client could request a resource by such an id.
 */
export const isLostInUrls = (externalId: string): boolean => externalId === '.' || externalId === '..'
