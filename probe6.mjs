import { openClickHouse, queryRows } from './dist/shared/clickhouse/clickhouse.js'
import { usageThroughRollups } from './dist/shared/clickhouse/rollups/usage-through-rollups.js'
const ch = await openClickHouse({folder:'/tmp/probe', database:'tally', queryTimeoutS:60, connections:1})
const c = ch.client
const ns='11111111-1111-1111-1111-111111111111'
const acc='account_'+ (await queryRows(c,"SELECT lower(hex(MD5('7'))) AS h",{}))[0].h
const seen=[]
const proxy = new Proxy(c,{get:(t,n)=> n==='query'? (a)=>{seen.push(a); return t.query(a)} : Reflect.get(t,n).bind?.(t) ?? Reflect.get(t,n)})
const roll=usageThroughRollups(proxy)
await roll.sumByAccount(ns,[acc])
seen.length=0
await roll.sumByAccount(ns,[acc])
const cpu = async (name,f,n=60)=>{ for(let i=0;i<5;i++) await f(); const t=[]; const u0=process.cpuUsage(); for(let i=0;i<n;i++){const a=performance.now(); await f(); t.push(performance.now()-a)} const u=process.cpuUsage(u0); t.sort((a,b)=>a-b); console.log(name.padEnd(34),'cpu ms',((u.user+u.system)/1000/n).toFixed(2),'min',t[0].toFixed(1),'p50',t[n>>1].toFixed(1)) }
for (const s of seen) { console.log(s.query, s.query_params) }
for (const s of seen) for (const [n,x] of Object.entries({none:{},t1:{max_threads:1},old:{max_threads:1,enable_analyzer:0},nofinalopt:{max_threads:1,do_not_merge_across_partitions_select_final:1},})) await cpu(n, async()=>{ const r=await c.query({...s,clickhouse_settings:x}); return r.json() })
const main=seen.at(-1)
const inner = main.query.slice(main.query.indexOf('(')+1); 
const parts = main.query.replace(/^SELECT .*? FROM \(/s,'').replace(/\) GROUP BY.*$/s,'').split('UNION ALL')
for (const p of parts) { const q=`SELECT account_id, source, toString(sum(total)) FROM (${p}) GROUP BY account_id, source`; await cpu('part', async()=>{const r=await c.query({...main,query:q,clickhouse_settings:{max_threads:1}}); return r.json()}) ; const e=await c.query({query:'EXPLAIN indexes=1 '+q, query_params:main.query_params,format:'TSVRaw'}); console.log((await e.text()).split('\n').filter(l=>/Parts|Granules|ReadFrom|Key|Search/.test(l)).join('\n')) }
const p0=parts[0]; 
await cpu('part0 direct', async()=>{const r=await c.query({...main,query:p0,clickhouse_settings:{max_threads:1}}); return r.json()})
await ch.close()
