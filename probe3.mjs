import { openClickHouse, queryRows } from './dist/shared/clickhouse/clickhouse.js'
const ch = await openClickHouse({folder:'/tmp/probe', database:'tally', queryTimeoutS:60, connections:4})
const c = ch.client
const ns='11111111-1111-1111-1111-111111111111'
const acc='account_'+ (await queryRows(c,"SELECT lower(hex(MD5('7'))) AS h",{}))[0].h
const run = async (q,s)=>{ const r=await c.query({query:q, query_params:{ns,acc}, format:'JSONEachRow', clickhouse_settings:s}); return r.json() }
const variants = {none:{}, threads1:{max_threads:1}, oldan:{enable_analyzer:0}, both:{enable_analyzer:0,max_threads:1}, more:{max_threads:1,enable_analyzer:0, log_queries:0, optimize_move_to_prewhere:0, query_plan_enable_optimizations:0, enable_global_with_statement:0}, prof:{max_threads:1, query_profiler_real_time_period_ns:'0', query_profiler_cpu_time_period_ns:'0', memory_profiler_step:'0', compile_expressions:0, compile_aggregate_expressions:0}}
const qs = {one:'SELECT 1 AS a', day:`SELECT source, toString(sum(sum)) AS s FROM usage_by_day FINAL WHERE epoch=1 AND namespace_id={ns:String} AND account_id={acc:String} AND count>0 GROUP BY source`,
 union:`SELECT source, toString(sum(t)) AS s FROM (SELECT source, sum AS t FROM usage_by_day FINAL WHERE epoch=1 AND namespace_id={ns:String} AND account_id={acc:String} AND count>0 UNION ALL SELECT source, sum AS t FROM usage_by_slot FINAL WHERE epoch=1 AND namespace_id={ns:String} AND account_id={acc:String} AND toDate(slot) IN (today()) AND count>0 UNION ALL SELECT source, toDecimal256(quantity,18) AS t FROM usage_events FINAL WHERE namespace_id={ns:String} AND account_id={acc:String} AND toStartOfFiveMinutes(occurred_at) >= now()-600 AND voided=0) GROUP BY source`,
 epochs:`SELECT epoch, max(slot_s) FROM rollup_epochs GROUP BY epoch HAVING max(state) = 1 ORDER BY epoch DESC LIMIT 1`}
for (const [qn,q] of Object.entries(qs)) { for (const [vn,s] of Object.entries(variants)) { const t=[]; for(let i=0;i<40;i++){const a=performance.now(); await run(q,s); t.push(performance.now()-a)} t.sort((a,b)=>a-b); console.log(qn.padEnd(8),vn.padEnd(10),'p50',t[20].toFixed(1),'p20',t[8].toFixed(1),'min',t[0].toFixed(1)) } }
await ch.close()
