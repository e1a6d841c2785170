import { type ClickHouse, queryRows } from './clickhouse.ts'

/**
 * What property_tokens has for a property with a value. The value is as text, or a number or boolean that ClickHouse
 * writes as JSON does.
 */
const CREATE =
  "FUNCTION property AS (name, value) -> toFixedString(substring(SHA256(concat(name, '=', value)), 1, 12), 12)"

/**
 * Makes the function `property`, by which analysts find the events with a property. Does nothing if it is there.
 *
 * Only for an engine that is Tally's own, because functions belong to no database.
 */
export async function makePropertyFunction(client: ClickHouse): Promise<void> {
  const [found] = await queryRows<{ create_query: string }>(
    client,
    "SELECT create_query FROM system.functions WHERE name = 'property'",
    {},
  )
  if (found?.create_query !== `CREATE ${CREATE}`)
    await client.command({ query: `CREATE OR REPLACE ${CREATE}` })
}
