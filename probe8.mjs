import { openClickHouse, queryRows } from './dist/shared/clickhouse/clickhouse.js'
import { rmSync } from 'node:fs'
rmSync('/tmp/probe8',{recursive:true,force:true})
const ch = await openClickHouse({folder:'/tmp/probe8', database:'tally', queryTimeoutS:60, connections:2})
const p = ch.client.command({query:'CREATE TABLE x ENGINE=MergeTree ORDER BY tuple() AS SELECT sum(cityHash64(number)) AS s FROM numbers(4000000000)'}).then(()=>console.log('done'),e=>console.log('err',e.message.slice(0,80)))
await new Promise(r=>setTimeout(r,1000))
const t=performance.now()
await ch.close(); console.log('closed', performance.now()-t)
process.on('exit',()=>console.log('exit',performance.now()-t))
process.exit(0)
