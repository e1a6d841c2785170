import { openClickHouse } from '../../shared/clickhouse/clickhouse.ts'

/** Runs statements on the ClickHouse data of a stopped Tally: `node run-clickhouse.js FOLDER STATEMENT...`. */
const [folder = '', ...statements] = process.argv.slice(2)
const opened = await openClickHouse({ folder, database: 'tally', connections: 2, queryTimeoutS: 60 })
for (const query of statements) await opened.client.command({ query })
await opened.close()
