import { openClickHouse, queryRows } from '../../../../shared/clickhouse/clickhouse.ts'

/** Prints what an embedded engine answers, as JSON: `node ask-clickhouse.js FOLDER QUERY`. */
const [folder = '', query = ''] = process.argv.slice(2)
const opened = await openClickHouse({ folder, database: 'tally', connections: 1, queryTimeoutS: 60 })
process.stdout.write(JSON.stringify(await queryRows(opened.client, query, {})))
await opened.close()
