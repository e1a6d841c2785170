import { ANALYTICS_VIEWS } from '../../shared/clickhouse/analytics-database.ts'

/**
 * What clients ask about the schema, as ClickHouse formats it, and the statement that is run instead. It is a closed
 * list of whole statements. The engine shows the analysts' role only their database.
 */
export function schemaStatements(database: string): ReadonlyMap<string, string> {
  const same = [
    'SHOW DATABASES',
    'SHOW TABLES',
    `SHOW TABLES FROM ${database}`,
    ...ANALYTICS_VIEWS.flatMap((view) => [view, `${database}.${view}`]).flatMap((table) => [
      `DESCRIBE TABLE ${table}`,
      `EXISTS TABLE ${table}`,
      `EXISTS VIEW ${table}`,
    ]),
  ]
  return new Map([
    ...same.map((text) => [text, text] as const),
    // The first query of clickhouse-connect, for Python. The answer keeps this client from changing settings by itself.
    [
      'SELECT name, value, readonly FROM system.settings LIMIT 10000',
      "SELECT 'readonly' AS name, '2' AS value, toUInt8(1) AS readonly",
    ] as const,
    // The first query of ClickHouse's Go client, and so of Grafana. The engine's answer would have the machine's name.
    [
      'SELECT displayName(), version(), revision(), timezone()',
      "SELECT 'Tally' AS `displayName()`, version(), revision(), timezone()",
    ] as const,
  ])
}
