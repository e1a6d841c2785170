/**
 * Whether an id is lost on its way: a part of a path that is `.` or `..` is taken out of a URL by whoever makes URLs,
 * written `%2e` too, and so what has such an id cannot be asked for by it.
 */
export const isLostInUrls = (externalId: string): boolean => externalId === '.' || externalId === '..'
