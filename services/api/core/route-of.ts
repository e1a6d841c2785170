/**
 * A route with the ids of one request in it, as Idempotency-Keys are kept: what is done to one resource is another
 * request than what is done to the next one.
 *
 * @param template method and path as openapi.yaml has it: `POST /v2/contracts/{contract_id}/cancel`
 * @param params the parameters of the path; ids are the same in upper and in lower case
 */
export const routeOf = (template: string, params: object): string =>
  template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = (params as Record<string, unknown>)[name]
    if (typeof value !== 'string') throw new Error(`the path of ${template} has no ${name}`)
    return value.toLowerCase()
  })
