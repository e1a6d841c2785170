/** New values for some fields of a resource. A field that is absent or undefined keeps its value. */
export type Changes<T> = { [K in keyof T]?: T[K] | undefined }

/** Whether changes contain no field at all. */
export const isUnchanged = (changes: object): boolean =>
  Object.values(changes).every((value) => value === undefined)
