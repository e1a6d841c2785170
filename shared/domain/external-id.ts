/**
 * Whether an id gets lost in URLs: a path segment `.` or `..`, also written `%2e`, is removed by every client that
 * builds URLs. A resource could not be requested by such an id.
 */
export const isLostInUrls = (externalId: string): boolean => externalId === '.' || externalId === '..'
