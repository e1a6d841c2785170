/**
 * A route with the ids of a request in its path. Idempotency-Keys are stored under this route, so one key can be used
 * for the same action on several resources.
 *
 * @param template method and path as in openapi.yaml: `POST /v2/contracts/{contract_id}/cancel`
 * @param params the parameters of the path; upper and lower case of an id give the same route
 */
export const routeOf = (template: string, params: object): string =>
  template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = (params as Record<string, unknown>)[name]
    if (typeof value !== 'string') throw new Error(`the path of ${template} has no ${name}`)
    return value.toLowerCase()
  })
