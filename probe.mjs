import { openClickHouse, queryRows } from './dist/shared/clickhouse/clickhouse.js'
import { migrateClickHouse } from './dist/shared/clickhouse/migrate.js'
import { rollupTables } from './dist/shared/clickhouse/rollups/rollup-tables.js'
import { rollupEpochRepository } from './dist/shared/clickhouse/rollups/rollup-epochs.js'
import { dirtySlotRepository } from './dist/shared/clickhouse/rollups/dirty-slots.js'
import { usageThroughRollups } from './dist/shared/clickhouse/rollups/usage-through-rollups.js'
import { usageAggregateRepository } from './dist/shared/clickhouse/usage-aggregates.js'
import { ALL_TIME } from './dist/shared/domain/time-slot.js'
import { rmSync } from 'node:fs'
rmSync('/tmp/probe', {recursive:true, force:true})
const ch = await openClickHouse({folder:'/tmp/probe', database:'tally', queryTimeoutS:60, connections:4})
const log = {info(){}, warn: console.log, debug(){}}
await migrateClickHouse(ch, log)
const c = ch.client
const now = Math.floor(Date.now()/1000)
const ns='11111111-1111-1111-1111-111111111111'
await c.command({query:`INSERT INTO usage_events (namespace_id, account_id, source, occurred_at, id, quantity, properties, accepted_at, voided, version)
 SELECT '${ns}', concat('account_', lower(hex(MD5(toString(number%50))))), if(number%3=0,'usd','metric_1'), toDateTime(${now}-intDiv(number*86400*60,200000),'UTC') AS o, concat(reverse(reinterpretAsFixedString(toUInt32(o))), substring(MD5(toString(number)),1,12)), toDecimal128(number%1000,18)/10, '{}', now64(6), 0, 1000000+number FROM numbers(200000)`})
const epochs = rollupEpochRepository(c), t = rollupTables(c), dirty = dirtySlotRepository(c)
const T = {epoch:1, slotS:300}
const through = now - now%300
await epochs.begin(1,300,through,now)
console.log(await t.computeSlots(T,{startAt: now-86400*33-now%86400, endAt: through}))
const day = now-now%86400
console.log('days raw', await t.computeDaysFromEvents(T,{startAt: day-86400*100, endAt: day-86400*33}))
console.log('days slots',await t.computeDaysFromSlots(T,{startAt: day-86400*33, endAt: day}))
console.log('totals', await t.computeTotals(T,{startAt: day-86400*100, endAt: day}))
await epochs.use(1,through,now)
console.log(await epochs.list())
const raw = usageAggregateRepository(c), roll = usageThroughRollups(c)
const acc='account_'+ (await queryRows(c,"SELECT lower(hex(MD5('7'))) AS h",{}))[0].h
const j = (x)=>JSON.stringify(x,(k,v)=>v instanceof Map?[...v].sort():typeof v==='bigint'?String(v):v)
const cmp = async (name, f)=>{ const t0=performance.now(); const a=j(await f(raw)); const t1=performance.now(); const b=j(await f(roll)); const t2=performance.now(); console.log(name, a===b, a.length, (t1-t0).toFixed(1),(t2-t1).toFixed(1)); if(a!==b) console.log(a.slice(0,400),'\n',b.slice(0,400)) }
for (let r=0;r<2;r++){
await cmp('all acc', u=>u.aggregate(ns,{range:ALL_TIME,accountId:acc}))
await cmp('all ns', u=>u.aggregate(ns,{range:ALL_TIME}))
await cmp('ragged', u=>u.aggregate(ns,{range:{startAt:now-86400*45+77,endAt:now-86400*3-31},accountId:acc}))
await cmp('month', u=>u.aggregateByPeriod(ns,'month',{range:ALL_TIME}))
await cmp('day', u=>u.aggregateByPeriod(ns,'day',{range:{startAt:now-86400*45+77,endAt:now-1},accountId:acc, source:'usd'}))
await cmp('sum', u=>u.sumByAccount(ns,[acc]))
await cmp('short', u=>u.aggregate(ns,{range:{startAt:now-86400*2+7,endAt:now-86400*2+57}}))
}
// late
const m=[{namespaceId:ns,accountId:acc,slot:through-600,wholeDay:false},{namespaceId:ns,accountId:'',slot:through-900,wholeDay:false},{namespaceId:ns,accountId:'',slot:day-86400*2,wholeDay:true},{namespaceId:ns,accountId:acc,slot:day-86400*40,wholeDay:false}]
await dirty.placePending(m,'77',now); 
await cmp('all acc', u=>u.aggregate(ns,{range:ALL_TIME,accountId:acc}))
console.log(await dirty.listReady(600,10))
await dirty.turnReady(m,'77',now)
const marks = await dirty.listReady(600,10)
console.log(marks, await t.listDays(marks))
await cmp('all acc', u=>u.aggregate(ns,{range:ALL_TIME,accountId:acc}))
await cmp('all ns', u=>u.aggregate(ns,{range:ALL_TIME}))
const k={ofAccounts:true,ofSlots:true,ofDays:true}
console.log('slots', await t.computeMarkedSlots(T,{startAt:day-86400*33,endAt:through},marks,k))
console.log('days', await t.computeMarkedDays(T,{startAt:day-86400*33,endAt:day},marks,k,'slots'))
console.log('days', await t.computeMarkedDays(T,{startAt:day-86400*50,endAt:day-86400*33},marks,k,'events'))
await dirty.cancel(marks)
console.log(await dirty.listReady(600,10))
await cmp('all acc', u=>u.aggregate(ns,{range:ALL_TIME,accountId:acc}))
await ch.close()
