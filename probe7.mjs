import { openClickHouse, queryRows } from './dist/shared/clickhouse/clickhouse.js'
const ch = await openClickHouse({folder:'/tmp/probe', database:'tally', queryTimeoutS:60, connections:20})
const c = ch.client
const ns='11111111-1111-1111-1111-111111111111'
const acc='account_'+ (await queryRows(c,"SELECT lower(hex(MD5('7'))) AS h",{}))[0].h
const day=`SELECT source, toString(sum(sum)) AS s FROM usage_by_day FINAL WHERE epoch=1 AND namespace_id={ns:String} AND account_id={acc:String} AND count>0 GROUP BY source`
const V = {none:{}, t1:{max_threads:1}, prof:{max_threads:1,query_profiler_real_time_period_ns:'0',query_profiler_cpu_time_period_ns:'0'}, logs:{max_threads:1,log_queries:0,log_query_threads:0,log_processors_profiles:0,log_profile_events:0}, mem:{max_threads:1,memory_profiler_step:'0',memory_profiler_sample_probability:0,max_untracked_memory:'100000000'}, old:{max_threads:1,enable_analyzer:0}, unc:{max_threads:1,use_uncompressed_cache:1}, cond:{max_threads:1,use_query_condition_cache:0}, pref:{max_threads:1,allow_prefetched_read_pool_for_local_filesystem:0,local_filesystem_read_method:'mmap'}, asyn:{max_threads:1,load_marks_asynchronously:0,use_skip_indexes:0}, optpl:{max_threads:1,query_plan_optimize_lazy_materialization:0,query_plan_enable_optimizations:0,optimize_read_in_order:0}, norows:{max_threads:1,max_execution_time:0}, jit:{max_threads:1, compile_aggregate_expressions:0,compile_expressions:0,compile_sort_description:0}}
const names=Object.keys(V); const tot=Object.fromEntries(names.map(n=>[n,[]]))
for (let r=0;r<60;r++) for (const n of names) { const u0=process.cpuUsage(); const a=performance.now(); for (let k=0;k<2;k++){const x=await c.query({query:day,query_params:{ns,acc},format:'JSONEachRow',clickhouse_settings:V[n]}); await x.json()} const u=process.cpuUsage(u0); tot[n].push([(u.user+u.system)/2000,(performance.now()-a)/2]) }
for (const n of names) { const m=(i)=>{const s=tot[n].map(x=>x[i]).sort((a,b)=>a-b); return s[s.length>>1].toFixed(2)+' / '+s[5].toFixed(2)}; console.log(n.padEnd(8),'cpu',m(0),'wall',m(1)) }
await ch.close()
