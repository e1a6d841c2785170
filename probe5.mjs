import { openClickHouse, queryRows } from './dist/shared/clickhouse/clickhouse.js'
const ch = await openClickHouse({folder:'/tmp/probe', database:'tally', queryTimeoutS:60, connections:1})
const c = ch.client
const ns='11111111-1111-1111-1111-111111111111'
const acc='account_'+ (await queryRows(c,"SELECT lower(hex(MD5('7'))) AS h",{}))[0].h
const run = async (q,s={},p={ns,acc})=>{ const r=await c.query({query:q, query_params:p, format:'JSONEachRow', clickhouse_settings:s}); return r.json() }
const cpu = async (name,f,n=60)=>{ for(let i=0;i<5;i++) await f(); const t=[]; const u0=process.cpuUsage(); for(let i=0;i<n;i++){const a=performance.now(); await f(); t.push(performance.now()-a)} const u=process.cpuUsage(u0); t.sort((a,b)=>a-b); console.log(name.padEnd(34),'cpu ms',((u.user+u.system)/1000/n).toFixed(2),'min',t[0].toFixed(1),'p50',t[n>>1].toFixed(1)) }
console.log(await run(`SELECT table, count() n, sum(rows) r, any(part_type) FROM system.parts WHERE active AND database='tally' GROUP BY table`))
const t1={max_threads:1}
await cpu('1',()=>run('SELECT 1 AS a',t1,{}))
await cpu('numbers agg',()=>run('SELECT sum(number) AS a FROM numbers(10)',t1,{}))
await cpu('union 3 const',()=>run('SELECT sum(a) FROM (SELECT 1 AS a UNION ALL SELECT 2 UNION ALL SELECT 3)',t1,{}))
await cpu('day count()',()=>run(`SELECT count() FROM usage_by_day WHERE epoch=1 AND namespace_id='${ns}' AND account_id='${acc}'`,t1,{}))
await cpu('day sum',()=>run(`SELECT sum(sum) FROM usage_by_day WHERE epoch=1 AND namespace_id='${ns}' AND account_id='${acc}'`,t1,{}))
await cpu('day sum prewhere0',()=>run(`SELECT sum(sum) FROM usage_by_day WHERE epoch=1 AND namespace_id='${ns}' AND account_id='${acc}'`,{...t1,optimize_move_to_prewhere:0},{}))
await cpu('day sum FINAL',()=>run(`SELECT sum(sum) FROM usage_by_day FINAL WHERE epoch=1 AND namespace_id='${ns}' AND account_id='${acc}'`,t1,{}))
await cpu('day sum FINAL month',()=>run(`SELECT sum(sum) FROM usage_by_day FINAL WHERE epoch=1 AND namespace_id='${ns}' AND account_id='${acc}' AND day >= '2026-11-01'`,t1,{}))
await cpu('slot today FINAL',()=>run(`SELECT sum(sum) FROM usage_by_slot FINAL WHERE epoch=1 AND namespace_id='${ns}' AND account_id='${acc}' AND toDate(slot) = today()`,t1,{}))
await cpu('slot empty FINAL',()=>run(`SELECT sum(sum) FROM usage_by_slot FINAL WHERE epoch=1 AND namespace_id='${ns}' AND account_id='${acc}' AND toDate(slot) = '2020-01-01'`,t1,{}))
await cpu('events FINAL empty',()=>run(`SELECT sum(quantity) FROM usage_events FINAL WHERE namespace_id='${ns}' AND account_id='${acc}' AND voided=0 AND toStartOfFiveMinutes(occurred_at) > '2026-12-01'`,t1,{}))
await cpu('events FINAL tail',()=>run(`SELECT sum(quantity) FROM usage_events FINAL WHERE namespace_id='${ns}' AND account_id='${acc}' AND voided=0 AND toStartOfFiveMinutes(occurred_at) > now() - 86400`,t1,{}))
await c.command({query:'OPTIMIZE TABLE usage_by_day FINAL'})
await cpu('day sum FINAL merged',()=>run(`SELECT sum(sum) FROM usage_by_day FINAL WHERE epoch=1 AND namespace_id='${ns}' AND account_id='${acc}'`,t1,{}))
await cpu('2 scalar',()=>run(`SELECT (SELECT max(closed_through) FROM rollup_epochs WHERE state=1) AS a, (SELECT count() FROM usage_dirty_slots WHERE namespace_id='${ns}') AS b`,t1,{}))
await cpu('union st',()=>run(`SELECT epoch, max(closed_through) FROM rollup_epochs GROUP BY epoch HAVING max(state)=1 UNION ALL SELECT DISTINCT 0, slot FROM usage_dirty_slots WHERE namespace_id='${ns}'`,t1,{}))
await ch.close()
