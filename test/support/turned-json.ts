/** Reverses the order of the fields at every level of a JSON value, as another library may write it. */
export function turned<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item: unknown) => turned(item)) as T
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, inner]): [string, unknown] => [name, turned(inner)]),
  ) as T
}
