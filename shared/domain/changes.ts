/** New values for some fields of a resource; a field that is absent or undefined stays as it is. */
export type Changes<T> = { [K in keyof T]?: T[K] | undefined }

/** Whether changes name no field at all. */
export const isUnchanged = (changes: object): boolean =>
  Object.values(changes).every((value) => value === undefined)
