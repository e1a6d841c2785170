import { openClickHouse, queryRows } from './dist/shared/clickhouse/clickhouse.js'
import { rollupStateReader } from './dist/shared/clickhouse/rollups/rollup-state.js'
import { usageThroughRollups } from './dist/shared/clickhouse/rollups/usage-through-rollups.js'
import { usageAggregateRepository } from './dist/shared/clickhouse/usage-aggregates.js'
import { ALL_TIME } from './dist/shared/domain/time-slot.js'
const ch = await openClickHouse({folder:'/tmp/probe', database:'tally', queryTimeoutS:60, connections:1})
const c = ch.client
const ns='11111111-1111-1111-1111-111111111111'
const acc='account_'+ (await queryRows(c,"SELECT lower(hex(MD5('7'))) AS h",{}))[0].h
const run = async (q,s={},p={ns,acc})=>{ const r=await c.query({query:q, query_params:p, format:'JSONEachRow', clickhouse_settings:s}); return r.json() }
export const cpu = async (name,f,n=60)=>{ for(let i=0;i<5;i++) await f(); const t=[]; const u0=process.cpuUsage(); for(let i=0;i<n;i++){const a=performance.now(); await f(); t.push(performance.now()-a)} const u=process.cpuUsage(u0); t.sort((a,b)=>a-b); console.log(name.padEnd(26),'cpu ms',((u.user+u.system)/1000/n).toFixed(2),'min',t[0].toFixed(1),'p50',t[n>>1].toFixed(1)) }
const idle0=process.cpuUsage(); await new Promise(r=>setTimeout(r,1000)); const id=process.cpuUsage(idle0); console.log('idle cpu ms/s',(id.user+id.system)/1000)
const rd = rollupStateReader(c); const raw = usageAggregateRepository(c), roll = usageThroughRollups(c)
await cpu('SELECT 1',()=>run('SELECT 1 AS a',{},{}))
await cpu('SELECT 1 with params',()=>run('SELECT {ns:String} AS a'))
const epochs=`SELECT epoch, max(slot_s) FROM rollup_epochs GROUP BY epoch HAVING max(state) = 1 ORDER BY epoch DESC LIMIT 1`
const day=`SELECT source, toString(sum(sum)) AS s FROM usage_by_day FINAL WHERE epoch=1 AND namespace_id={ns:String} AND account_id={acc:String} AND count>0 GROUP BY source`
for (const [n,s] of Object.entries({none:{},t1:{max_threads:1},old:{enable_analyzer:0},noopt:{max_threads:1,query_plan_enable_optimizations:0},pread:{max_threads:1,local_filesystem_read_method:'pread'},concur:{max_threads:1,use_concurrency_control:0}, jit:{max_threads:1,compile_expressions:0,compile_aggregate_expressions:0,compile_sort_description:0}})) {
 await cpu('epochs '+n,()=>run(epochs,s,{})); await cpu('day '+n,()=>run(day,s)) }
await cpu('state',()=>rd.read(ns,ALL_TIME,[acc]))
await cpu('raw sum',()=>raw.sumByAccount(ns,[acc]))
await cpu('roll sum',()=>roll.sumByAccount(ns,[acc]))
await ch.close()
