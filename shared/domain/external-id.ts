/**
 * Whether an id gets lost in URLs: a path segment `.` or `..`, also written `%2e`, is removed by every client that
 * builds URLs. A resource with such an id could not be requested by it.
 */
export const isLostInUrls = (externalId: string): boolean => externalId === '.' || externalId === '..'
