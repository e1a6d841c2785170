import { openClickHouse, queryRows } from './dist/shared/clickhouse/clickhouse.js'
import { readRollupState } from './dist/shared/clickhouse/rollups/rollup-state.js'
import { usageThroughRollups } from './dist/shared/clickhouse/rollups/usage-through-rollups.js'
import { usageAggregateRepository } from './dist/shared/clickhouse/usage-aggregates.js'
import { ALL_TIME } from './dist/shared/domain/time-slot.js'
const ch = await openClickHouse({folder:'/tmp/probe', database:'tally', queryTimeoutS:60, connections:4})
const c = ch.client
const ns='11111111-1111-1111-1111-111111111111'
const acc='account_'+ (await queryRows(c,"SELECT lower(hex(MD5('7'))) AS h",{}))[0].h
const time = async (name,f,n=40)=>{ const t=[]; for(let i=0;i<n;i++){const a=performance.now(); await f(); t.push(performance.now()-a)} t.sort((a,b)=>a-b); console.log(name.padEnd(20), 'p50',t[n>>1].toFixed(1),'min',t[0].toFixed(1),'max',t[n-1].toFixed(1)) }
const raw = usageAggregateRepository(c), roll = usageThroughRollups(c)
await time('SELECT 1', ()=>queryRows(c,'SELECT 1 AS a',{}))
await time('SELECT 1 param', ()=>queryRows(c,'SELECT {a:UInt32} AS a',{a:1}))
await time('state acc', ()=>readRollupState(c,ns,ALL_TIME,[acc]))
await time('sum raw', ()=>raw.sumByAccount(ns,[acc]))
await time('sum roll', ()=>roll.sumByAccount(ns,[acc]))
const parts = (x)=>queryRows(c,x,{ns,acc})
await time('day', ()=>parts(`SELECT source, toString(sum(sum)) AS s FROM usage_by_day FINAL WHERE epoch=1 AND namespace_id={ns:String} AND account_id={acc:String} AND count>0 GROUP BY source`))
await time('day nofinal', ()=>parts(`SELECT source, toString(sum(sum)) AS s FROM usage_by_day WHERE epoch=1 AND namespace_id={ns:String} AND account_id={acc:String} AND count>0 GROUP BY source`))
await time('epochs', ()=>parts(`SELECT epoch, max(slot_s) FROM rollup_epochs GROUP BY epoch HAVING max(state) = 1 ORDER BY epoch DESC LIMIT 1`))
await time('marks', ()=>parts(`SELECT slot FROM usage_dirty_slots WHERE namespace_id={ns:String} GROUP BY namespace_id, account_id, whole_day, slot, mark, stage HAVING sum(sign) > 0`))
await ch.close()
