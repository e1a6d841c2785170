/** A mistake that somebody could make, and the suites that must not let it pass. */
export interface PlantedBug {
  /** What is wrong, as docs/planted-bugs.md has it. */
  name: string
  /** The file it is planted in. */
  file: string
  /** Text that stands there once … */
  right: string
  /** … and what takes its place. */
  wrong: string
  /** Test files, below test/ and without their ending. */
  suites: readonly string[]
  /** Whether each of them must find it by itself. */
  each?: true
}

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'the offset is committed before the rows are stored',
    file: 'services/loader/load-usage.ts',
    right: '    await storeBlocks(batch.blocks, target)\n',
    wrong:
      '    await commit([...batch.positions].map(([partition, offset]) => ({ partition, offset })))\n    await storeBlocks(batch.blocks, target)\n',
    suites: ['services/loader/load-usage'],
  },
  {
    name: 'a batch that ClickHouse refuses is dropped after the first attempt',
    file: 'services/loader/store-blocks.ts',
    right: '      await sleep(waitMs, undefined, { signal })\n',
    wrong: '      return undefined\n',
    suites: ['services/loader/load-usage'],
  },
  {
    name: 'a line that cannot be read is left out without a dead letter',
    file: 'services/loader/load-usage.ts',
    right: '      await deadLetter(at, reason)\n',
    wrong: '',
    suites: ['services/loader/load-usage'],
  },
  {
    name: 'one bad row takes the whole batch into the dead letters',
    file: 'services/loader/store-blocks.ts',
    right: '  const half = Math.ceil(parts.length / 2)\n',
    wrong:
      '  for (const part of parts) await deps.deadLetter(part, fault.reason)\n  if (parts.length > 0) return\n  const half = Math.ceil(parts.length / 2)\n',
    suites: ['services/loader/store-blocks', 'services/loader/load-usage'],
  },
  {
    name: 'FINAL is left out: rows of one event count as often as they are stored',
    file: 'shared/clickhouse/usage/usage-aggregates.ts',
    right:
      'const query = `SELECT ${columnsOf(selection)} FROM usage_events FINAL ${conditionsOf(selection)} GROUP BY source ${settingsOf(params)}`',
    wrong:
      'const query = `SELECT ${columnsOf(selection)} FROM usage_events ${conditionsOf(selection)} GROUP BY source`',
    suites: ['shared/clickhouse/usage-readers'],
  },
  {
    name: 'the version of a report is a constant: which report wins is chance',
    file: 'shared/domain/usage-event.ts',
    right: '  return versionTop.bits | BigInt(crc32(content) & CONTENT_MASK)\n',
    wrong: '  return BigInt(crc32(content) & 0)\n',
    suites: ['shared/domain/usage-event', 'services/api/usage-model'],
  },
  {
    name: 'the last report of an event wins, not the first',
    file: 'shared/domain/usage-event.ts',
    right: '(REPORT_TOP - BigInt(acceptedAt)) << CONTENT_BITS',
    wrong: 'BigInt(acceptedAt) << CONTENT_BITS',
    suites: ['shared/domain/usage-event', 'services/api/usage-model'],
  },
  {
    name: 'a report has another id each time it is sent',
    file: 'shared/domain/usage-event.ts',
    right: "      return digest96(['tally/event', namespaceId, accountId, source, key.key])\n",
    wrong: '      return randomHex(12)\n',
    suites: ['services/gateway/report-usage'],
  },
  {
    name: 'the account is left out of the identity of an event',
    file: 'shared/domain/usage-event.ts',
    right: "['tally/event', namespaceId, accountId, source, key.key]",
    wrong: "['tally/event', namespaceId, source, key.key]",
    suites: ['shared/domain/usage-event'],
  },
  {
    name: 'sums are of doubles',
    file: 'shared/clickhouse/usage/usage-aggregates.ts',
    right: "'toString(sum(toDecimal256(quantity, 18))) AS sum'",
    wrong: "'toString(sum(toFloat64(quantity))) AS sum'",
    suites: ['shared/clickhouse/usage-readers'],
  },
  {
    name: 'sums are of 128 bits, and wrap around',
    file: 'shared/clickhouse/usage/usage-aggregates.ts',
    right: "'toString(sum(toDecimal256(quantity, 18))) AS sum'",
    wrong: "'toString(sum(quantity)) AS sum'",
    suites: ['shared/clickhouse/usage-readers'],
  },
  {
    name: 'sums of open slots are of 128 bits, and wrap around',
    file: 'shared/clickhouse/usage/rollup-columns.ts',
    right: "ofEvent: 'toDecimal256(quantity, 18) AS total'",
    wrong: "ofEvent: 'quantity AS total'",
    suites: ['shared/clickhouse/usage-readers'],
  },
  {
    name: 'among several accounts the latest event of the last second is the one with the greatest id',
    file: 'shared/clickhouse/usage/rollup-columns.ts',
    right: '(substring(newest_id, 1, 4), newest_at, newest_id)',
    wrong: '(substring(newest_id, 1, 4), newest_id)',
    suites: ['shared/clickhouse/usage-readers'],
  },
  {
    name: 'sums of closed slots are of 128 bits, and wrap around',
    file: 'shared/clickhouse/rollups/rollup-statements.ts',
    right: 'sumIf(toDecimal256(quantity, 18), voided = 0)',
    wrong: 'sumIf(quantity, voided = 0)',
    suites: ['shared/clickhouse/usage-readers'],
  },
  {
    name: 'amounts are rounded to 20 digits',
    file: 'shared/amount/amount.ts',
    right: 'Decimal.clone({ precision: 80,',
    wrong: 'Decimal.clone({ precision: 20,',
    suites: ['shared/amount/amount'],
  },
  {
    name: 'any of several events of one second is taken as the latest',
    file: 'shared/clickhouse/usage/usage-aggregates.ts',
    right: 'argMax(quantity, (occurred_at, accepted_at, id))',
    wrong: 'argMax(quantity, occurred_at)',
    suites: ['services/api/usage-by-period'],
  },
  {
    name: 'a range includes its end',
    file: 'shared/clickhouse/usage/usage-aggregates.ts',
    right: "occurred_at < toDateTime({endAt:UInt32}, 'UTC')",
    wrong: "occurred_at <= toDateTime({endAt:UInt32}, 'UTC')",
    suites: ['services/api/event-aggregate', 'services/api/usage-model'],
  },
  {
    name: 'usage of another company is counted too',
    file: 'shared/clickhouse/usage/usage-aggregates.ts',
    right: '  namespace_id = {namespaceId:String}\n  AND toStart',
    wrong: '  1\n  AND toStart',
    suites: ['services/api/tenancy', 'services/api/usage-model', 'services/api/event-aggregate'],
  },
  {
    name: 'a grant that was voided still counts',
    file: 'shared/postgres/migrations/0005_grants.sql',
    right: 'SELECT g.voided_at IS NULL AND g.archived_at IS NULL\n',
    wrong: 'SELECT g.archived_at IS NULL\n',
    suites: ['services/api/grants'],
  },
  {
    name: 'reports are answered before the log has them',
    file: 'services/gateway/acceptance.ts',
    right: '      await append(prepared).catch(',
    wrong: '      void append(prepared).catch(',
    suites: ['services/gateway/acceptance', 'services/gateway/published-watermark', 'faults/crash-points'],
  },
  {
    name: 'Kafka is not asked to confirm',
    file: 'shared/event-log/kafka/durability.ts',
    right: 'ALL_IN_SYNC_REPLICAS = -1\n',
    wrong: 'ALL_IN_SYNC_REPLICAS = 0\n',
    suites: ['shared/event-log/kafka-event-log'],
  },
  {
    name: 'records that Kafka did not take count as written',
    file: 'shared/event-log/kafka/batching-sender.ts',
    right: '      else this.waiting = [...left, ...this.waiting]\n',
    wrong: '      else for (const parcel of left) parcel.settle()\n',
    suites: ['shared/event-log/kafka-event-log'],
  },
  {
    name: 'records are sent although their callers were answered that nothing was sent',
    file: 'shared/event-log/kafka/batching-sender.ts',
    right: 'parcels.filter(({ done }) => !done)',
    wrong: 'parcels',
    suites: ['shared/event-log/kafka-event-log'],
  },
  {
    name: 'a batch of one partition overtakes the one before it',
    file: 'shared/event-log/kafka/batching-sender.ts',
    right: '        await this.send(partition, records.slice(first, end), deadline)\n',
    wrong: '        void this.send(partition, records.slice(first, end).toReversed(), deadline)\n',
    suites: ['shared/event-log/kafka-event-log'],
  },
  {
    name: 'an offset that Kafka has deleted is replaced by the end of the log',
    file: 'shared/event-log/kafka/consumer.ts',
    right: '      return { partition, offset: first }\n',
    wrong: '      return { partition, offset: end }\n',
    suites: ['shared/event-log/kafka-event-log'],
  },
  {
    name: 'Kafka’s records are deleted by their age, loaded or not',
    file: 'shared/event-log/kafka/kafka-event-log.ts',
    right:
      '        return partitions.map((partition) => ({\n          partition,\n          offset: Math.min(',
    wrong:
      '        if (lags.length > 0) return (await reader.listBounds(partitions)).map(({ partition, end }) => ({ partition, offset: end }))\n        return partitions.map((partition) => ({\n          partition,\n          offset: Math.min(',
    suites: ['shared/event-log/kafka-event-log'],
  },
  {
    name: 'a loader keeps records of a partition that another loader has now',
    file: 'shared/event-log/kafka/consumer.ts',
    right: '    if (assigned?.next !== offset || this.buffers.has(partition)) return\n',
    wrong: '    if (assigned === undefined || this.buffers.has(partition)) return\n',
    suites: ['shared/event-log/kafka-event-log'],
  },
  {
    name: 'partitions are assigned so that one is left out',
    file: 'shared/event-log/group-membership.ts',
    right: 'partition % rows.length === place',
    wrong: 'partition !== 3 && partition % rows.length === place',
    suites: ['shared/event-log/postgres-event-log'],
  },
  {
    name: 'an old commit moves the group back',
    file: 'shared/event-log/postgres/consumer.ts',
    right: 'next_offset = greatest(o.next_offset, c.next_offset)',
    wrong: 'next_offset = c.next_offset',
    suites: ['shared/event-log/postgres-event-log'],
  },
  {
    name: 'the list of events does not wait for events on their way into the log',
    file: 'shared/event-log/listed-up-to.ts',
    right: '    const underWay = await lowestUnderWay()\n',
    wrong: '    const underWay = (await lowestUnderWay()) + 3_600_000_000\n',
    suites: ['shared/event-log/listed-up-to'],
  },
  {
    name: 'a revoked key is cached for a minute',
    file: 'shared/http/authentication.ts',
    right: 'const CALLER_TTL_MS = 4_000\n',
    wrong: 'const CALLER_TTL_MS = 60_000\n',
    suites: ['services/operator/commands', 'contract/every-operation', 'services/standalone/redis'],
  },
  {
    name: 'a caller is cached beyond the end of its key',
    file: 'shared/http/authentication.ts',
    right: '  Math.min(CALLER_TTL_MS, caller?.endsInMs ?? Infinity)\n',
    wrong: '  caller?.keyId === undefined ? CALLER_TTL_MS : CALLER_TTL_MS\n',
    suites: ['shared/http/caller-cache'],
  },
  {
    name: 'a whole number in a query is whatever JavaScript reads as a number',
    file: 'shared/http/check-query.ts',
    right: '!WHOLE_NUMBER.test(value))',
    wrong: 'Number.isNaN(Number(value)))',
    suites: ['contract/query-parameters'],
  },
  {
    name: 'a rotated key has every permission',
    file: 'shared/keys/rotate-key.ts',
    right: '{ companyId, name: found.name, secret, ...after }',
    wrong:
      "{ companyId, name: found.name, secret, ...after, permissions: ['read:all', 'write:all', 'manage:keys'] }",
    suites: ['shared/keys/rotate-key', 'services/api/api-keys'],
  },
  {
    name: 'a key that was revoked a moment ago can make another key',
    file: 'shared/keys/giver.ts',
    right: 'if (key?.isUsable !== true)',
    wrong: 'if (key === undefined)',
    suites: ['shared/keys/rotate-key'],
  },
  {
    name: 'queries to ClickHouse run in order of arrival, not in turns by company',
    file: 'shared/clickhouse/query-turns.ts',
    right: "  if (typeof namespaceId === 'string') return namespaceId\n",
    wrong: "  if (typeof namespaceId === 'string') return ''\n",
    suites: ['shared/clickhouse/query-turns'],
  },
  {
    name: 'long reads may use all connections to ClickHouse',
    file: 'shared/clickhouse/query-turns.ts',
    right: 'const longAtOnce = Math.max(1, connections - FOR_SHORT_READS)',
    wrong: 'const longAtOnce = connections',
    suites: ['shared/clickhouse/query-turns'],
  },
  {
    name: 'a request that waits for a lock holds a connection',
    file: 'shared/postgres/core/transaction.ts',
    right: '  return locks === undefined ? run() : locks.run(run, { tenant: `${namespaceId} ${lock}` })\n',
    wrong: '  return run()\n',
    suites: ['services/neighbours'],
  },
  {
    name: 'one company may use all connections to PostgreSQL',
    file: 'shared/postgres/core/pool-turns.ts',
    right: 'atOnceOfOne: Math.ceil(connectionsMax / 2)',
    wrong: 'atOnceOfOne: connectionsMax',
    suites: ['shared/postgres/core/pool-turns'],
  },
  {
    name: 'a permit goes to the company that has most of them',
    file: 'shared/batching/fair-semaphore.ts',
    right: 'has < (next?.has ?? Infinity)',
    wrong: 'has >= (next?.has ?? 0)',
    suites: ['shared/batching/fair-semaphore'],
  },
  {
    name: 'each unknown key is looked up by itself',
    file: 'shared/http/open-access.ts',
    right: '{ atMost: 500, atOnce: 2, slowAfterMs: 1_000 }',
    wrong: '{ atMost: 1, atOnce: 500, slowAfterMs: 1_000 }',
    suites: ['shared/http/admit'],
  },
  {
    name: 'wrong keys push right ones out of the cache',
    file: 'shared/http/authentication.ts',
    right: '        else if (ttl > 0) wrong.set(name, true, { ttl })\n',
    wrong:
      '        else if (ttl > 0) {\n          wrong.set(name, true, { ttl })\n          cache.set(`wrong ${name}`, {} as Caller, { ttl })\n        }\n',
    suites: ['shared/http/admit'],
  },
  {
    name: 'the key of a body that came slowly is not checked again',
    file: 'shared/http/authentication.ts',
    right: '  if (performance.now() - sinceMs > LONG_BODY_MS) await identify(req, access)\n',
    wrong: '  if (performance.now() < sinceMs) await identify(req, access)\n',
    suites: ['services/neighbours'],
  },
  {
    name: 'bodies in flight are counted for all companies together',
    file: 'shared/http/collect-bytes.ts',
    right: 'bytesInFlight.take(tenant, chunk.length)',
    wrong: "bytesInFlight.take('', chunk.length)",
    suites: ['shared/http/admit'],
  },
  {
    name: 'an answer that no client reads is kept for ever',
    file: 'shared/http/request-deadline.ts',
    right: '    timer = setTimeout(() => {\n      res.destroy()\n    }, sendMs)\n',
    wrong: '',
    suites: ['shared/http/admit'],
  },
  {
    name: 'answers that were not read are not counted',
    file: 'shared/http/admit.ts',
    right: '    unread = left\n    bytesInFlight.add(companyId, unread)\n',
    wrong: '',
    suites: ['shared/http/admit'],
  },
  {
    name: 'a repeated Idempotency-Key takes a new time, and so makes new events',
    file: 'shared/postgres/idempotency-keys.ts',
    right: 'at: Number(found.first_used_at), form',
    wrong: 'at, form',
    suites: ['shared/postgres/idempotency-keys', 'services/gateway/keyed-reports'],
    each: true,
  },
  {
    name: 'one Idempotency-Key gives events of two routes the same id',
    file: 'shared/domain/usage-event.ts',
    right: '        key.route,\n',
    wrong: '',
    suites: ['services/gateway/keyed-reports', 'services/keyed-requests-model'],
    each: true,
  },
  {
    name: 'reports with an Idempotency-Key are compared by their bytes, not their content',
    file: 'services/gateway/report-usage.ts',
    right: 'digest: digestOfReports(checked)',
    wrong: 'digest: Buffer.concat([digestOfReports(checked), report.body])',
    suites: ['services/gateway/keyed-reports', 'services/keyed-requests-model'],
    each: true,
  },
  {
    name: 'a key that has begun with another content is answered as one that is done',
    file: 'shared/postgres/idempotency-keys.ts',
    right: "  new DomainError(\n    'unprocessable',\n",
    wrong: "  new DomainError(\n    'conflict',\n",
    suites: ['services/gateway/keyed-reports', 'services/keyed-requests-model'],
    each: true,
  },
  {
    name: 'a key that is done does not store which events it was for',
    file: 'shared/postgres/idempotency-keys.ts',
    right: 'resource_id = $4, event_count = $5',
    wrong: 'resource_id = nullif($4, $4), event_count = $5',
    suites: ['services/gateway/keyed-reports', 'services/keyed-requests-model'],
    each: true,
  },
  {
    name: 'a key that is used up does not store what was made',
    file: 'services/api/core/once.ts',
    right: '  await keys.nameResource(namespaceId, request, idOf(made))\n',
    wrong: "  if (idOf(made) === '') await keys.nameResource(namespaceId, request, idOf(made))\n",
    suites: ['contract/keyed-operations', 'services/keyed-requests-model'],
    each: true,
  },
  {
    name: 'a key of a change belongs to the template of its route: of two contracts only one is canceled',
    file: 'services/api/core/once.ts',
    right: 'routeOf(template, request.params)',
    wrong: "routeOf(template.replaceAll(/[{}]/g, ''), request.params)",
    suites: ['contract/keyed-operations', 'services/keyed-requests-model'],
    each: true,
  },
  {
    name: 'a report that began with an earlier version continues with other ids',
    file: 'shared/postgres/idempotency-keys.ts',
    right: 'at: Number(found.first_used_at), form: found.form',
    wrong: 'at: Number(found.first_used_at), form: KEY_FORM.ofContent',
    suites: ['services/gateway/keyed-reports'],
  },
  {
    name: 'properties are compared as text, in the order they came in',
    file: 'shared/domain/properties.ts',
    right: 'seen.isOrdered ? JSON.stringify(properties) : canonicalJson(properties)',
    wrong: '!seen.isOrdered ? JSON.stringify(properties) : canonicalJson(properties)',
    suites: ['shared/domain/canonical-json', 'services/gateway/report-usage'],
    each: true,
  },
  {
    name: 'a correction that only reorders fields counts as a change, if they were stored in no order',
    file: 'shared/domain/correct-event.ts',
    right: 'isSameContent({ ...event, ...correction }, event)',
    wrong:
      'isSameContent({ ...event, ...correction }, event) && contentOf({ ...event, ...correction }) === contentOf(event)',
    suites: ['shared/domain/correct-event'],
  },
  {
    name: 'the audit counts another content under the same id as a repeat',
    file: 'services/operator/audit/tell-repeats.ts',
    right: 'isSame(first, event, REPORTED)',
    wrong: 'isSame(first, event, [])',
    suites: ['services/operator/audit-usage'],
  },
  {
    name: 'the lag of the loaders shows as 0',
    file: 'services/loader/watch-lag.ts',
    right: 'count: Math.max(0, end - committed)',
    wrong: 'count: Math.min(0, end - committed)',
    suites: ['services/loader/watch-lag'],
  },
  {
    name: 'a reset does not wait for reports under way',
    file: 'shared/postgres/test-worlds.ts',
    right: 'await db.query(TAKE_ALONE, [companyId])',
    wrong: 'await db.query(LOOK, [companyId])',
    suites: ['services/test-area/reset'],
  },
  {
    name: 'a balance uses real time, not the company’s clock',
    file: 'services/api/balances/routes.ts',
    right: 'source, clock()))',
    wrong: 'source, new Date()))',
    suites: ['services/test-area/clock'],
  },
  {
    name: 'the version of a correction is without its highest bit: reports win over it',
    file: 'shared/domain/usage-event.ts',
    right: '  CORRECTION | (BigInt(correctedAt) << CONTENT_BITS)',
    wrong: '  (BigInt(correctedAt) << CONTENT_BITS)',
    suites: ['shared/domain/usage-event', 'services/corrections'],
  },
  {
    name: 'two corrections within a microsecond have one time',
    file: 'shared/domain/correct-event.ts',
    right: 'Math.max(now, (event.correctedAt ?? event.acceptedAt) + 1)',
    wrong: 'now',
    suites: ['services/corrections'],
  },
  {
    name: 'a correction starts from the row that was read before its turn',
    file: 'services/gateway/correct-usage.ts',
    right: 'correctEvent(found.event, correction, now)',
    wrong: 'correctEvent(reports.stored.get(eventId) ?? found.event, correction, now)',
    suites: ['services/corrections'],
  },
  {
    name: 'events are corrected without being locked first',
    file: 'shared/postgres/event-revisions.ts',
    right: ' AND revision = 0 ORDER BY event_id FOR UPDATE`',
    wrong: ' AND revision = 0 ORDER BY event_id`',
    suites: ['services/corrections', 'services/corrections-model'],
  },
  {
    name: 'corrections are marked as sent before they are',
    file: 'services/gateway/correct-usage.ts',
    right: '    if (unsent.length > 0) {\n',
    wrong: '    if (unsent.length > 0) {\n      await sender.markSent(unsent)\n',
    suites: ['services/corrections'],
  },
  {
    name: 'a voided event still counts in usage by property',
    file: 'shared/clickhouse/usage/usage-aggregates.ts',
    right: 'AND voided = 0 ${WITH_PROPERTY}`',
    wrong: '${WITH_PROPERTY}`',
    suites: ['services/corrections'],
  },
  {
    name: 'properties are found by the index alone, even those whose hash ends with a zero byte',
    file: 'shared/clickhouse/usage/usage-aggregates.ts',
    right: 'query_plan_direct_read_from_text_index = 0',
    wrong: 'query_plan_direct_read_from_text_index = 1',
    suites: ['services/api/event-aggregate'],
  },
  {
    name: 'voids are filtered out before FINAL: the voided report counts again',
    file: 'shared/clickhouse/rollups/cover-query.ts',
    right: 'PREWHERE ${ofKey} WHERE voided = 0`',
    wrong: 'PREWHERE ${ofKey} AND voided = 0`',
    suites: ['shared/clickhouse/usage-readers', 'services/rollup/histories'],
  },
  {
    name: 'a refill is computed from data that were read before its lock was held',
    file: 'services/refill/refill-balances.ts',
    right: `      const configurations = await refillConfigurationRepository(db).lock(namespaceId, keys)
      if (configurations.length === 0) return new Map<string, RefillOutcome>()
      await lockBalances(db, namespaceId, configurations)
      reached('refill-locked')
      const balances = await readBalances(db, deps, namespaceId, configurations, limits)
`,
    wrong: `      const found = await Promise.all(keys.map((key) => refillConfigurationRepository(db).find(namespaceId, key)))
      const asked = found.flatMap((one) => (one === undefined ? [] : [{ ...one, occurrences: 0n }]))
      const early = await readBalances(db, deps, namespaceId, asked, limits)
      const configurations = await refillConfigurationRepository(db).lock(namespaceId, keys)
      if (configurations.length === 0) return new Map<string, RefillOutcome>()
      await lockBalances(db, namespaceId, configurations)
      reached('refill-locked')
      const balances = await Promise.all(configurations.map(async (configuration) => {
        const [history] = await refillRepository(db).listHistories(namespaceId, [configuration], limits)
        const read = early.find((one) => nameOf(one.configuration) === nameOf(configuration)) as ReadBalance
        const amount = subtractAmounts(configuration.targetBalance, read.balance.balance)
        return { ...read, configuration, amount, outcome: judge(configuration, read.balance, amount, history) }
      }))
`,
    suites: ['services/refill/refill-balances'],
  },
  {
    name: 'the row of a refill configuration is not locked while it is refilled',
    file: 'shared/postgres/refill-configurations.ts',
    right: '  FOR UPDATE OF c SKIP LOCKED`',
    wrong: '`',
    suites: ['services/refill/refill-balances'],
  },
  {
    name: 'grants are made and voided while a refill of their balance is computed',
    file: 'shared/postgres/locks/balance-lock.ts',
    right: "const HOLD = 'SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))'",
    wrong: "const HOLD = 'SELECT hashtextextended($1, 0)'",
    suites: ['services/refill/refill-balances'],
  },
  {
    name: 'a refill does not increment the number of refills',
    file: 'services/refill/refill-balances.ts',
    right:
      '  await refillConfigurationRepository(db).countOccurrence(namespaceId, configuration, occurrence)\n',
    wrong: '',
    suites: ['services/refill/refill-balances'],
  },
  {
    name: 'credit of a contract is keyed by the time of the run',
    file: 'services/refill/give-contract-credits.ts',
    right: '({ lineId: line.id, periodStartAt, grantId })',
    wrong: '({ lineId: line.id, periodStartAt: now, grantId })',
    suites: ['services/refill/give-contract-credits'],
  },
  {
    name: 'late credit of a contract begins when it is written, not when it was due',
    file: 'services/refill/give-contract-credits.ts',
    right: '  effectiveAt: new Date(effectiveAt * 1_000),\n',
    wrong: '  effectiveAt: new Date(),\n',
    suites: ['services/refill/give-contract-credits'],
  },
  {
    name: 'credit is given although its key was taken',
    file: 'services/refill/give-contract-credits.ts',
    right: 'due.filter(({ grantId }) => claimed.has(grantId))',
    wrong: 'due.filter(() => claimed.size >= 0)',
    suites: ['services/refill/give-contract-credits'],
  },
  {
    name: 'a contract is not locked while its credit is given',
    file: 'shared/postgres/contract-credits.ts',
    right: '\n  FOR NO KEY UPDATE OF c SKIP LOCKED`',
    wrong: '`',
    suites: ['services/refill/give-contract-credits'],
  },
  {
    name: 'a correction does not make refills check the balance',
    file: 'services/refill/follow-usage.ts',
    right: 'touched: isAll ? undefined : [...accepted, ...unseen]',
    wrong: 'touched: isAll ? undefined : accepted',
    suites: ['services/refill/keep-balances'],
  },
  {
    name: 'a batch is committed although the batch before it was given up',
    file: 'services/loader/load-usage.ts',
    right: 'if (!(await stored)) break',
    wrong: 'await stored',
    suites: ['services/loader/load-usage'],
  },
  {
    name: 'late usage is only marked after its rows are stored',
    file: 'services/loader/mark-late.ts',
    right: '      await dirty.placePending(slots, insertId, now)\n',
    wrong: '',
    suites: ['services/rollup/races', 'services/rollup/monotone'],
    each: true,
  },
  {
    name: 'late usage is only marked before its rows are stored, and worked off at once',
    file: 'services/loader/mark-late.ts',
    right: `      await dirty.placePending(slots, insertId, now)
      reached('loader-marked')
    }
    await insertLines(lines)
    reached('loader-stored')
    const { now: then, closing: begun } = await epochs.readClock()
    const [lateByNow] = await partition(inTime, isLateAt(then, begun))
    const ended = await slotMarks(lateByNow, slotS, then, slotMarksMax)
    if (ended.length > 0) await dirty.placeReady(ended, randomId(), then)
    if (slots.length > 0) await dirty.turnReady(slots, insertId, now)
`,
    wrong: `      await dirty.placeReady(slots, insertId, now)
      reached('loader-marked')
    }
    await insertLines(lines)
    reached('loader-stored')
    const { now: then, closing: begun } = await epochs.readClock()
    const [lateByNow] = await partition(inTime, isLateAt(then, begun))
    const ended = await slotMarks(lateByNow, slotS, then, slotMarksMax)
    if (ended.length > 0) await dirty.placeReady(ended, randomId(), then)
`,
    suites: ['services/rollup/races', 'services/rollup/monotone'],
    each: true,
  },
  {
    name: 'late usage is recognized by the clock alone, which may be set back after slots were closed',
    file: 'services/loader/mark-late.ts',
    right: 'const end = Math.max(at - slotS + 1, begun)',
    wrong: 'const end = at - slotS + 1',
    suites: ['services/rollup/races'],
  },
  {
    name: 'days with late usage are read from their rollups, too',
    file: 'shared/clickhouse/rollups/cover-query.ts',
    right: "conditions.push(`day NOT IN ${daysParam('daysExcept')}`)",
    wrong: 'conditions.push()',
    suites: ['shared/clickhouse/usage-readers'],
  },
  {
    name: 'slots in the same key bucket as a late slot count twice',
    file: 'shared/clickhouse/rollups/cover-query.ts',
    right: ' AND ${second} - ${second} % ${slotS} IN {eventSlots:Array(UInt32)})`',
    wrong: ')`',
    suites: ['shared/clickhouse/usage-readers'],
  },
  {
    name: 'a range of events begins where its key bucket begins',
    file: 'shared/clickhouse/rollups/cover-query.ts',
    right: "AND occurred_at >= ${time('from')} AND",
    wrong: 'AND',
    suites: ['shared/clickhouse/usage-readers'],
  },
  {
    name: 'late usage is worked off while its insert is not complete',
    file: 'shared/clickhouse/rollups/dirty-slots.ts',
    right: 'minIf(placed_at, is_ready) OVER ()',
    wrong: 'min(placed_at) OVER ()',
    suites: ['shared/clickhouse/dirty-slots'],
  },
  {
    name: 'the rollup of a slot that was stored last, by the clock, counts',
    file: 'clickhouse/0011_usage_by_slot.sql',
    right: '    version UInt128 CODEC(ZSTD(1))\n)\nENGINE = ReplacingMergeTree(version)\n',
    wrong:
      "    version UInt128 CODEC(ZSTD(1)),\n    stored_at DateTime64(9, 'UTC') DEFAULT now64(9)\n)\nENGINE = ReplacingMergeTree(stored_at)\n",
    suites: ['services/rollup/races', 'services/rollup/monotone'],
    each: true,
  },
  {
    name: 'the rollup of a day that was stored last, by the clock, counts',
    file: 'clickhouse/0015_usage_by_day.sql',
    right: '    version UInt128 CODEC(ZSTD(1))\n)\nENGINE = ReplacingMergeTree(version)\n',
    wrong:
      "    version UInt128 CODEC(ZSTD(1)),\n    stored_at DateTime64(9, 'UTC') DEFAULT now64(9)\n)\nENGINE = ReplacingMergeTree(stored_at)\n",
    suites: ['services/rollup/races'],
  },
  {
    name: 'the total of a day that was stored last, by the clock, counts',
    file: 'clickhouse/0017_usage_by_day_total.sql',
    right: '    version UInt128 CODEC(ZSTD(1))\n)\nENGINE = ReplacingMergeTree(version)\n',
    wrong:
      "    version UInt128 CODEC(ZSTD(1)),\n    stored_at DateTime64(9, 'UTC') DEFAULT now64(9)\n)\nENGINE = ReplacingMergeTree(stored_at)\n",
    suites: ['services/rollup/races'],
  },
  {
    name: 'the total of a slot that was stored last, by the clock, counts',
    file: 'clickhouse/0014_usage_by_slot_total.sql',
    right: '    version UInt128 CODEC(ZSTD(1))\n)\nENGINE = ReplacingMergeTree(version)\n',
    wrong:
      "    version UInt128 CODEC(ZSTD(1)),\n    stored_at DateTime64(9, 'UTC') DEFAULT now64(9)\n)\nENGINE = ReplacingMergeTree(stored_at)\n",
    suites: ['services/rollup/races'],
  },
  {
    name: 'a change of a card takes its time before the card is locked',
    file: 'services/api/rate-cards/change-card.ts',
    right: `  const card = await cards.lock(namespaceId, rateCardId)
  if (card === undefined) return undefined
  const now = await clock()
`,
    wrong: `  const now = await clock()
  const card = await cards.lock(namespaceId, rateCardId)
  if (card === undefined) return undefined
`,
    suites: ['services/api/change-times'],
  },
  {
    name: 'a contract that has ended continues, because the API’s clock is behind',
    file: 'services/api/contracts/routes.ts',
    right: '      () => changeTime(work.db, work),\n',
    wrong: '      () => changeTime(work.db, work).then(() => work.now),\n',
    suites: ['services/api/change-times'],
  },
  {
    name: 'credit of a line is due again for the period of its newest grant',
    file: 'shared/domain/billing/invoice.ts',
    right: 'periodAt(contract, newest).endAt',
    wrong: 'periodAt(contract, newest).startAt',
    suites: ['shared/domain/billing/invoice'],
  },
  {
    name: 'a permit for a long read goes to the company that waits first, though it has some',
    file: 'shared/batching/fair-semaphore.ts',
    right: 'has < (next?.has ?? Infinity)',
    wrong: 'next === undefined',
    suites: ['shared/batching/fair-semaphore'],
  },
  {
    name: 'the rollup of a month that was stored last, by the clock, counts',
    file: 'clickhouse/0016_usage_by_month.sql',
    right: '    version UInt128 CODEC(ZSTD(1))\n)\nENGINE = ReplacingMergeTree(version)\n',
    wrong:
      "    version UInt128 CODEC(ZSTD(1)),\n    stored_at DateTime64(9, 'UTC') DEFAULT now64(9)\n)\nENGINE = ReplacingMergeTree(stored_at)\n",
    suites: ['services/rollup/races'],
  },
  {
    name: 'a month is not computed again when one of its days is',
    file: 'services/rollup/recompute-late.ts',
    right: '    rowsRead += await recomputeMonths(deps, epoch, days, marks)\n',
    wrong: '    rowsRead += 0\n',
    suites: ['services/rollup/months'],
  },
  {
    name: 'a check whether a month is being closed comes before its late days are stored',
    file: 'services/rollup/recompute-late.ts',
    right: `  for (const epoch of await stillLive(deps, live, now))
    rowsRead += await recomputeDays(deps, epoch, days, today, marks)
  reached('rollup-late-days')
  // The epochs are read once more: a month may have been merged from its days before these were stored.
  for (const epoch of await stillLive(deps, live, now))
`,
    wrong: `  const early = await stillLive(deps, live, now)
  for (const epoch of early)
    rowsRead += await recomputeDays(deps, epoch, days, today, marks)
  reached('rollup-late-days')
  for (const epoch of early)
`,
    suites: ['services/rollup/months'],
  },
  {
    name: 'a month that ends is read before its rollup is stored',
    file: 'services/rollup/close-slots.ts',
    right: `    if (monthOf(endAt) === endAt)
      rowsRead += await tables.computeMonths(target, { startAt: monthOf(day.startAt), endAt })
    reached('rollup-months')
  }
  await epochs.closed(epoch, endAt)
`,
    wrong: `  }
  await epochs.closed(epoch, endAt)
  if (monthOf(endAt) === endAt)
    rowsRead += await tables.computeMonths(target, { startAt: monthOf(endAt - DAY_S), endAt })
  reached('rollup-months')
`,
    suites: ['services/rollup/months'],
  },
  {
    name: 'a month in which a day is late is read from its rollup',
    file: 'shared/clickhouse/rollups/usage-cover.ts',
    right: 'const splits = [...notWhole, ...cuts',
    wrong: 'const splits = [...notWhole.slice(0, 0), ...cuts',
    suites: ['shared/clickhouse/rollups/usage-cover', 'services/rollup/months'],
    each: true,
  },
  {
    name: 'a month is read as a whole, though prices change on one of its days',
    file: 'shared/clickhouse/rollups/usage-cover.ts',
    right: '...cuts.filter((cut) => monthOf(cut) !== cut)]',
    wrong: '...cuts.slice(0, 0)]',
    suites: ['shared/clickhouse/rollups/usage-cover', 'shared/clickhouse/rated-usage'],
    each: true,
  },
  {
    name: 'days are read in addition to the months they are in',
    file: 'shared/clickhouse/rollups/cover-query.ts',
    right: '...ofMonths.map((run) => `day NOT ${run}`)',
    wrong: '...ofMonths.slice(0, 0)',
    suites: ['services/rollup/months', 'shared/clickhouse/rated-usage'],
    each: true,
  },
  {
    name: 'closing slots is announced when it is done, not before it begins',
    file: 'shared/clickhouse/rollups/rollup-epochs.ts',
    right: `      await write({ epoch, closing_through: through })
    },

    /** Called after the slots, their totals, and the days, totals and months that end with them are stored. */
    async closed(epoch: number, through: number): Promise<void> {
      await write({ epoch, closed_through: through })
`,
    wrong: `    },

    async closed(epoch: number, through: number): Promise<void> {
      await write({ epoch, closing_through: through, closed_through: through })
`,
    suites: ['services/rollup/races', 'services/rollup/monotone'],
  },
  {
    name: 'a day is not computed again when one of its slots is',
    file: 'services/rollup/recompute-late.ts',
    right: '    rowsRead += await recomputeDays(deps, epoch, days, today, marks)\n',
    wrong: '    rowsRead += 0\n',
    suites: ['services/rollup/races', 'services/rollup/monotone'],
  },
  {
    name: 'totals of slots are not computed again when one of their accounts is late',
    file: 'services/rollup/recompute-late.ts',
    right: 'await computeInEach(live, recent, (epoch',
    wrong: 'await computeInEach(live, recent.slice(0, 0), (epoch',
    suites: ['services/rollup/slot-totals', 'services/rollup/monotone'],
  },
  {
    name: 'totals of slots are not computed again when a whole day of all accounts is late',
    file: 'shared/clickhouse/rollups/rollup-tables.ts',
    right: 'if (ofDays) rows += await run(intoSlotTotals(SLOT_TOTALS_OF_DAYS), params)',
    wrong: 'if (ofDays) rows += await run(intoSlotTotals(SLOT_TOTALS_OF_SLOTS), params)',
    suites: ['services/rollup/slot-totals'],
  },
  {
    name: 'FINAL is left out where slots are computed: rows of one event count as often as they are stored',
    file: 'shared/clickhouse/rollups/rollup-statements.ts',
    right: 'FROM usage_events FINAL PREWHERE ${where} GROUP BY namespace_id, account_id, source, slot)`',
    wrong: 'FROM usage_events PREWHERE ${where} GROUP BY namespace_id, account_id, source, slot)`',
    suites: ['services/rollup/races', 'services/rollup/monotone'],
  },
  {
    name: 'marks are ignored because of the state of their slots before they were placed',
    file: 'services/rollup/recompute-late.ts',
    right: `  const marks = await dirty.listReadyFrom(closedThrough)
  if (marks.length === 0) return
  const live = liveOf(await epochs.list(), await epochs.now())
`,
    wrong: `  const live = liveOf(await epochs.list(), await epochs.now())
  const marks = await dirty.listReadyFrom(closedThrough)
`,
    suites: ['services/rollup/races'],
  },
  {
    name: 'all marks are cancelled, not those that were read',
    file: 'shared/clickhouse/rollups/dirty-slots.ts',
    right: '  WHERE ${OF_MARKS}\n    AND slot >=',
    wrong: '  WHERE ({readyInserts:Array(UInt64)} = {orphans:Array(UInt64)}) IN (0, 1)\n    AND slot >=',
    suites: ['services/rollup/races', 'services/rollup/monotone'],
  },
  {
    name: 'cached sums are stamped with a late count that was read after them',
    file: 'shared/clickhouse/usage/account-sums.ts',
    right: '  if (state.epoch === first.epoch.epoch)\n',
    wrong: `  const accounts = some.map(({ account }) => account)
  some = await readSnapshots({ client, states, closedSums }, first.epoch, accounts, { looksForMarks: false, isOpenWanted: false })
  if (state.epoch === first.epoch.epoch)
`,
    suites: ['services/rollup/races'],
  },
  {
    name: 'cached sums of an account stay valid when late usage comes',
    file: 'shared/clickhouse/usage/closed-sums.ts',
    right: 'late === lateOf(counts, account)',
    wrong: 'late === late',
    suites: ['services/rollup/races'],
  },
  {
    name: 'closed sums are cached while usage of an open slot is marked as late',
    file: 'shared/clickhouse/rollups/dirty-slots.ts',
    right: 'FROM usage_dirty_slots WHERE ${OF_ACCOUNTS} ${STANDS}',
    wrong:
      'FROM usage_dirty_slots WHERE ${OF_ACCOUNTS} AND (kind = 2 OR slot < (SELECT max(closed_through) FROM rollup_epochs)) ${STANDS}',
    suites: ['services/rollup/races'],
  },
  {
    name: 'closed sums of an account are cached although a mark of it stands',
    file: 'shared/clickhouse/usage/account-sums.ts',
    right: 'marked.has(name) || ',
    wrong: '',
    suites: ['services/api/warm-balances', 'services/rollup/races'],
  },
  {
    name: 'closed sums of an account are read ahead and cached although a mark of it stands',
    file: 'shared/clickhouse/usage/account-sums.ts',
    right: 'closed === undefined && !isMarked)',
    wrong: 'closed === undefined)',
    suites: ['services/api/warm-balances'],
  },
  {
    name: 'late usage of an account is read with another read that saw no mark of it',
    file: 'shared/clickhouse/usage/account-sums.ts',
    right: '${epoch.epoch} ${epoch.closedThrough} ${isMarked}`',
    wrong: '${epoch.epoch} ${epoch.closedThrough}`',
    suites: ['shared/clickhouse/usage-readers'],
  },
  {
    name: 'accounts without cached sums are read as if they had some: in vain, and with other companies',
    file: 'shared/clickhouse/usage/account-sums.ts',
    right: 'deps.closedSums.has(account) ? await snapshotOfCached(account) : undefined',
    wrong: 'await snapshotOfCached(account)',
    suites: ['shared/clickhouse/usage-readers', 'services/rollup/races'],
  },
  {
    name: 'invalid sums stay cached, and are used in vain',
    file: 'shared/clickhouse/usage/account-sums.ts',
    right: 'else if (found !== undefined) closedSums.forget(account, found)',
    wrong: '',
    suites: ['services/rollup/races'],
  },
  {
    name: 'accounts without valid cached sums are not read ahead, because marks are not checked',
    file: 'shared/clickhouse/usage/account-sums.ts',
    right: 'looksForMarks: true, isOpenWanted',
    wrong: 'looksForMarks: false, isOpenWanted',
    suites: ['services/api/warm-balances'],
  },
  {
    name: 'late usage of an account is marked and not counted',
    file: 'shared/clickhouse/rollups/dirty-slots.ts',
    right: '[...marks, ...counts]',
    wrong: 'marks',
    suites: ['services/rollup/races'],
  },
  {
    name: 'a late count is taken for a mark that waits',
    file: 'shared/clickhouse/rollups/dirty-slots.ts',
    right: 'FROM usage_dirty_slots WHERE ${IS_MARK} ${STANDS}`',
    wrong: 'FROM usage_dirty_slots ${STANDS}`',
    suites: ['shared/clickhouse/dirty-slots'],
  },
  {
    name: 'a mark of all accounts does not prevent caching',
    file: 'shared/clickhouse/usage/account-sums.ts',
    right: 'marked.has(name) || marked.has(nameOfAllAccounts(account))',
    wrong: 'marked.has(name)',
    suites: ['services/api/warm-balances'],
  },
  {
    name: 'slots that were closed since are not added to cached sums',
    file: 'shared/clickhouse/usage/account-sums.ts',
    right: 'holds ? addSums(found.sums, since.get(name))',
    wrong: 'holds ? addSums(found.sums)',
    suites: ['services/rollup/races'],
  },
  {
    name: 'slots that were closed since are those since the cached sums of another account',
    file: 'shared/clickhouse/usage/account-sums.ts',
    right: 'filters: [...OF_SUMS.filters, SINCE]',
    wrong: 'filters: OF_SUMS.filters',
    suites: ['services/rollup/races'],
  },
  {
    name: 'slots of an old day are read, though they are dropped',
    file: 'shared/clickhouse/rollups/usage-cover.ts',
    right: 'wholly.has(day) || day < oldest || firstSlot >= endSlot',
    wrong: 'wholly.has(day) || firstSlot >= endSlot',
    suites: ['shared/clickhouse/rollups/usage-cover'],
  },
  {
    name: 'a day that is dirty as a whole is read from its rollup',
    file: 'shared/clickhouse/rollups/usage-cover.ts',
    right: 'const wholly = new Set(state.dirtyDays)',
    wrong: 'const wholly = new Set<number>()',
    suites: ['shared/clickhouse/rollups/usage-cover'],
  },
  {
    name: 'a read joins a running batch: its answer is older than its request',
    file: 'shared/batching/batch-reads.ts',
    right: '  return (key) => loader.load(key)\n',
    wrong: `  const begun = new Map<string, Promise<Answer>>()
  return (key) => {
    const name = nameOf(key)
    const read = begun.get(name) ?? loader.load(key).finally(() => begun.delete(name))
    begun.set(name, read)
    return read
  }
`,
    suites: ['shared/batching/batch-reads'],
  },
  {
    name: 'sums are cached though usage was written while they were read',
    file: 'shared/clickhouse/usage/latest-sums.ts',
    right: '?? []) read.isOutdated = true',
    wrong: '?? []) read.isOutdated = false',
    suites: ['shared/clickhouse/latest-sums', 'services/rollup/monotone'],
  },
  {
    name: 'sums are cached that were read while usage was being written',
    file: 'shared/clickhouse/usage/latest-sums.ts',
    right: 'reads.run(name, ask, writes.of(name) !== undefined)',
    wrong: 'reads.run(name, ask, false)',
    suites: ['shared/clickhouse/latest-sums', 'services/rollup/monotone'],
  },
  {
    name: 'what is stored is not added to cached sums',
    file: 'shared/clickhouse/usage/latest-sums.ts',
    right: 'else cached.set(name, addSums(before, added))',
    wrong: 'else cached.set(name, before)',
    suites: ['shared/clickhouse/latest-sums', 'services/rollup/monotone'],
    each: true,
  },
  {
    name: 'the first of several writes to end counts for all of them',
    file: 'shared/clickhouse/usage/latest-sums.ts',
    right: '--write.count > 0',
    wrong: '--write.count > 1',
    suites: ['shared/clickhouse/latest-sums'],
  },
  {
    name: 'sums of wrong rollups stay cached after a rebuild',
    file: 'services/standalone/open-event-flow.ts',
    right: 'openRollup({ pool: pools.rollup, clickhouse, latestSums, metrics',
    wrong: 'openRollup({ pool: pools.rollup, clickhouse, metrics',
    suites: ['services/operator/audit'],
  },
  {
    name: 'sums are cached that were read from rollups of a former epoch',
    file: 'shared/clickhouse/usage/latest-sums.ts',
    right: 'epoch >= epochInUse && ',
    wrong: '',
    suites: ['shared/clickhouse/latest-sums'],
  },
  {
    name: 'the loader does not say whose usage it stores',
    file: 'services/loader/mark-late.ts',
    right: 'latestSums.whileStoring(lines, subjects, () =>',
    wrong: 'latestSums.whileStoring(lines, [], () =>',
    suites: ['services/rollup/monotone', 'services/test-area/drain'],
    each: true,
  },
  {
    name: 'usage counts as written before the marks of what was late stand',
    file: 'services/loader/mark-late.ts',
    right:
      'return (lines, subjects) => latestSums.whileStoring(lines, subjects, () => store(lines, subjects))',
    wrong: `return (lines, subjects) => {
    const insert = () => latestSums.whileStoring(lines, subjects, () => insertLines(lines))
    return markLate({ epochs, dirty, reached, insertLines: insert }, marginS)(lines, subjects)
  }`,
    suites: ['services/rollup/races'],
  },
  {
    name: 'the usage of a repeat is added to cached sums once more',
    file: 'shared/clickhouse/usage/stored-ids.ts',
    right: 'if (bucket.size === before) return false',
    wrong: '',
    suites: ['shared/clickhouse/latest-sums', 'shared/clickhouse/added-usage'],
    each: true,
  },
  {
    name: 'ids of stored events are forgotten, and count as new when they come again',
    file: 'shared/clickhouse/usage/stored-ids.ts',
    right: '      completeFrom = Math.max(completeFrom, (nth + 1) * BUCKET_S)\n',
    wrong: '',
    suites: ['shared/clickhouse/stored-ids'],
  },
  {
    name: 'events stored before the start count as new when they come again',
    file: 'services/standalone/open-event-flow.ts',
    right: 'makeLatestSums((await latestUsageAt(client)) + 1)',
    wrong: 'makeLatestSums((await latestUsageAt(client)) * 0)',
    suites: ['services/standalone/lifecycle'],
  },
  {
    name: 'a correction is added to cached sums beside what it corrects',
    file: 'shared/clickhouse/usage/added-usage.ts',
    right: 'correctedAt !== undefined || voided !== 0',
    wrong: "correctedAt !== undefined && voided !== 0 && quantity === ''",
    suites: ['shared/clickhouse/latest-sums', 'shared/clickhouse/added-usage'],
  },
  {
    name: 'new usage is added to cached sums although a repeat came with it',
    file: 'shared/clickhouse/usage/added-usage.ts',
    right: 'Object.assign(ofAccount, { isNew: false, added: undefined })',
    wrong: 'Object.assign(ofAccount, { isNew: false })',
    suites: ['shared/clickhouse/latest-sums', 'shared/clickhouse/added-usage'],
  },
  {
    name: 'usage is added to cached sums although its write failed',
    file: 'shared/clickhouse/usage/latest-sums.ts',
    right: 'added === undefined || !isStored',
    wrong: 'added === undefined',
    suites: ['shared/clickhouse/latest-sums', 'shared/clickhouse/added-usage'],
  },
  {
    name: 'cached sums are taken while usage is written that others see already',
    file: 'shared/clickhouse/usage/latest-sums.ts',
    right: 'isAwaited ? await untilWritten(write) : cached.get(name)',
    wrong: 'isAwaited && !cached.has(name) ? await untilWritten(write) : cached.get(name)',
    suites: ['shared/clickhouse/latest-sums', 'shared/clickhouse/added-usage'],
    each: true,
  },
  {
    name: 'the loader of npm start is not known to its readers',
    file: 'services/standalone/open-event-flow.ts',
    right: 'clickhouse: engines.loaderClickhouse.client,\n    latestSums,\n',
    wrong: 'clickhouse: engines.loaderClickhouse.client,\n',
    suites: ['services/test-area/drain'],
  },
  {
    name: 'a read gets the answer of another read in its batch',
    file: 'shared/clickhouse/usage/account-sums.ts',
    right: 'return { account, epoch, lateCounts, isMarked, closed, open: open.get(name) }',
    wrong:
      'return { account, epoch, lateCounts, isMarked, closed, open: open.get(nameOfAccount(accounts[0] ?? account)) }',
    suites: ['shared/clickhouse/usage-readers', 'services/rollup/races', 'services/api/usage-model'],
  },
  {
    name: 'all usage of accounts with late usage is read ahead, from the events',
    file: 'shared/clickhouse/usage/account-sums.ts',
    right: 'return snapshots.filter((one) => one.closed !== undefined || sums?.has(nameOfSnapshot(one)))',
    wrong: 'return snapshots',
    suites: ['services/api/warm-balances'],
  },
  {
    name: 'another ClickHouse beside the same PostgreSQL is accepted',
    file: 'shared/clickhouse/require-usage-store.ts',
    right: '!ids.includes(registered)',
    wrong: 'ids.length === 0',
    suites: ['shared/clickhouse/require-usage-store', 'services/standalone/servers'],
    each: true,
  },
  {
    name: 'grants that are read together belong to another account',
    file: 'shared/postgres/grants.ts',
    right: 'FROM sum_grants($1, $2, $3, $4) ORDER BY nth',
    wrong: 'FROM sum_grants($1, $2, $3, $4) ORDER BY nth DESC',
    suites: ['services/api/balances-at-once'],
  },
  {
    name: 'usage that is read together is of the account with this id in another namespace',
    file: 'shared/domain/account-key.ts',
    right: '`${namespaceId} ${accountId}`',
    wrong: '`${namespaceId.slice(0, 0)}${accountId}`',
    suites: ['shared/clickhouse/usage-readers', 'services/api/balances-at-once'],
    each: true,
  },
  {
    name: 'the result of a shared read is the answer for ever',
    file: 'shared/batching/batch-reads.ts',
    right: '      loader.clearAll() // from here on the same reads go into the next batch\n',
    wrong: '',
    suites: ['shared/batching/batch-reads', 'services/api/balances-at-once'],
    each: true,
  },
  {
    name: 'a slow batch gives up its place twice',
    file: 'shared/batching/batch-reads.ts',
    right: '      isHeld = false\n',
    wrong: '',
    suites: ['shared/batching/batch-reads'],
  },
  {
    name: 'closed sums of an account reach to a slot that only another read knows to be closed',
    file: 'shared/clickhouse/usage/account-sums.ts',
    right: '`${account.namespaceId} ${epoch.epoch} ${epoch.closedThrough} ',
    wrong: '`${account.namespaceId} ${epoch.epoch ? 0 : 1} ',
    suites: ['shared/clickhouse/usage-readers'],
  },
  {
    name: 'the quantity that a graduated tier goes up to lies in the next one, too',
    file: 'shared/domain/billing/cost.ts',
    right: 'if (compareRatios(quantity, below) <= 0) break',
    wrong: 'if (compareRatios(quantity, below) < 0 || isZeroRatio(quantity)) break',
    suites: ['shared/domain/billing/naive'],
  },
  {
    name: 'a volume price uses the next tier at the upper bound of a tier',
    file: 'shared/domain/billing/cost.ts',
    right: 'upTo === null || compareRatios(quantity, upTo) <= 0',
    wrong: 'upTo === null || compareRatios(quantity, upTo) < 0',
    suites: ['shared/domain/billing/naive'],
  },
  {
    name: 'the flat amount of the first tier is due without usage',
    file: 'shared/domain/billing/cost.ts',
    right: 'if (compareRatios(quantity, below) <= 0) break',
    wrong:
      'if (compareRatios(quantity, below) <= 0 && !(isZeroRatio(quantity) && entered.length === 0)) break',
    suites: ['shared/domain/billing/naive'],
  },
  {
    name: 'a period is counted from the period before, not from the anchor',
    file: 'shared/domain/billing/periods.ts',
    right:
      '  return length === undefined ? monthsAfter(anchorAt, k * monthsOf(cadence)) : anchorAt + k * length\n',
    wrong: `  if (length !== undefined) return anchorAt + k * length
  const before = k < 1 ? anchorAt : boundary({ anchorAt, cadence }, k - 1)
  return monthsAfter(before, (k < 1 ? k : 1) * monthsOf(cadence))
`,
    suites: ['shared/domain/billing/naive'],
  },
  {
    name: 'a share is of the contract’s part of a period, not of the whole period',
    file: 'shared/domain/billing/plan.ts',
    right: 'share: shareOf(range, fullPeriod)',
    wrong: 'share: shareOf(range, pieceOf(contract, contract, fullPeriod) ?? fullPeriod)',
    suites: ['shared/domain/billing/naive'],
  },
  {
    name: 'amounts are rounded half even',
    file: 'shared/amount/ratio.ts',
    right: '  return { numerator: floorRatio(doubled), denominator: scale }',
    wrong:
      '  const up = floorRatio(doubled)\n  const isTie = up * doubled.denominator === doubled.numerator\n  return { numerator: isTie && up % 2n !== 0n ? up - 1n : up, denominator: scale }',
    suites: ['shared/domain/billing/naive'],
  },
  {
    name: 'each tier is rounded, not the line',
    file: 'shared/domain/billing/charge.ts',
    right: '  const cost = costOf(terms, billableQuantity)\n',
    wrong: `  const cost = costOf(terms, billableQuantity)
  if (cost.tiers !== undefined) {
    cost.exactAmount = RATIO_ZERO
    for (const tier of cost.tiers)
      cost.exactAmount = subtractRatios(
        roundHalfUp(tier.exactAmount, minorUnits),
        subtractRatios(RATIO_ZERO, cost.exactAmount),
      )
  }
`,
    suites: ['shared/domain/billing/naive'],
  },
  {
    name: 'amounts have two places in any currency',
    file: 'shared/domain/billing/invoice.ts',
    right: '  return minorUnits\n',
    wrong: '  return 2\n',
    suites: ['shared/domain/billing/naive'],
  },
  {
    name: 'packages are counted in floats',
    file: 'shared/domain/billing/cost.ts',
    right: 'ceilRatio(divideRatios(quantity, terms.packageSize))',
    wrong: `BigInt(
        Math.ceil(
          Number(quantity.numerator) /
            Number(quantity.denominator) /
            (Number(terms.packageSize.numerator) / Number(terms.packageSize.denominator)),
        ),
      )`,
    suites: ['shared/domain/billing/naive'],
  },
  {
    name: 'usage of the second at which a piece ends is counted in it',
    file: 'shared/domain/billing/plan.ts',
    right: '[{ piece: index, ...range }]',
    wrong: '[{ piece: index, ...range, endAt: range.endAt + 1 }]',
    suites: ['shared/domain/billing/naive'],
  },
  {
    name: 'a piece is rated by the rates in force now',
    file: 'shared/domain/billing/plan.ts',
    right: 'ratesInForce(ratesOf(line, rateCards), range.startAt)',
    wrong: 'ratesInForce(ratesOf(line, rateCards), Date.now() / 1_000)',
    suites: ['shared/domain/billing/naive'],
  },
  {
    name: 'a discount lowers the minimum, too',
    file: 'shared/domain/billing/charge.ts',
    right: '  const { exactAmount, bound } = withinBounds(terms, x, request.share)\n',
    wrong:
      '  const { exactAmount: due, bound } = withinBounds(terms, cost.exactAmount, request.share)\n  const exactAmount = lessDiscount(due, discountPercent)\n',
    suites: ['shared/domain/billing/naive'],
  },
  {
    name: 'the maximum of the rest is the maximum of all, as if it could be subtracted like a sum',
    file: 'shared/domain/billing/rate-usage.ts',
    right: '    groups.set(group, before ? mergeUsage(before, row.usage) : row.usage)\n',
    wrong: `    groups.set(group, before ? mergeUsage(before, row.usage) : row.usage)
    const rest = groups.get(REST)
    if (group !== REST && rest !== undefined)
      groups.set(REST, { ...rest, max: mergeUsage(rest, row.usage).max })
`,
    suites: ['shared/domain/billing/naive'],
  },
  {
    name: 'a filter accepts usage without the property',
    file: 'shared/domain/billing/matches.ts',
    right: 'return value !== undefined && values.includes(value)',
    wrong: 'return value === undefined || values.includes(value)',
    suites: ['shared/domain/billing/naive'],
  },
  {
    name: 'rates of different values of one property count as overlapping',
    file: 'shared/domain/billing/scope.ts',
    right: 'if (rate.groupBy !== null && rate.priceId === null)',
    wrong: 'if (rate.groupBy !== null && rate.priceId === undefined)',
    suites: ['shared/domain/billing/overlap'],
  },
  {
    name: 'rates with a price for the rest count as covering listed values only',
    file: 'shared/domain/billing/scope.ts',
    right: 'if (rate.groupBy !== null && rate.priceId === null)',
    wrong: 'if (rate.groupBy !== null)',
    suites: ['shared/domain/billing/overlap'],
  },
  {
    name: 'a grant that begins in the first second of the next period pays for this one',
    file: 'shared/domain/billing/credit.ts',
    right: 'grant.effectiveAt < before',
    wrong: 'grant.effectiveAt <= before',
    suites: ['shared/domain/billing/naive'],
  },
  {
    name: 'a grant that expires with a period does not pay for it',
    file: 'shared/domain/billing/credit.ts',
    right: 'end === null || end >= before',
    wrong: 'end === null || end > before',
    suites: ['shared/domain/billing/naive'],
  },
  {
    name: 'credit of a contract is known by the time it was given, not by its period',
    file: 'shared/domain/billing/contract-credits.ts',
    right: 'periodStartAt: period.startAt',
    wrong: 'periodStartAt: now',
    suites: ['shared/domain/billing/vectors'],
  },
  {
    name: 'usage after as_of is counted',
    file: 'shared/domain/billing/plan.ts',
    right: '{ startAt: -Infinity, endAt: asOf }',
    wrong: '{ startAt: -Infinity, endAt: Infinity }',
    suites: ['shared/domain/billing/naive'],
  },
  {
    name: 'credit is that of the period’s end, even with as_of',
    file: 'shared/domain/billing/plan.ts',
    right: 'creditBefore: Math.min(period.endAt, asOf)',
    wrong: 'creditBefore: period.endAt',
    suites: ['shared/domain/billing/naive'],
  },
  {
    name: 'a contract’s own price is lost when its card changes',
    file: 'shared/domain/billing/rate-usage.ts',
    right:
      '      const price = agreedPrice(piece.line, { rate, value, price: priceIn(prices, priceId) }, prices, used)\n',
    wrong:
      '      const own = agreedPrice(piece.line, { rate, value, price: priceIn(prices, priceId) }, prices, used)\n      const price = rate.startsAt > piece.line.startsAt ? priceIn(prices, priceId) : own\n',
    suites: ['shared/domain/billing/naive'],
  },
  {
    name: 'the earlier version of a corrected event is the current one',
    file: 'shared/clickhouse/usage/rated-usage-statement.ts',
    right: 'export const REPLACED = `ifNull(corrected_at >= ${BEFORE}, 0)`',
    wrong: 'export const REPLACED = `0`',
    suites: ['shared/clickhouse/known-usage', 'services/api/invoice-vectors'],
    each: true,
  },
  {
    name: 'an event that was voided later did not exist before',
    file: 'shared/clickhouse/usage/rated-usage-statement.ts',
    right: '(voided = 0 OR ${REPLACED})',
    wrong: 'voided = 0',
    suites: ['shared/clickhouse/known-usage'],
  },
  {
    name: 'events that were accepted later were known',
    file: 'shared/clickhouse/usage/rated-usage-statement.ts',
    right: 'const KNOWN = `accepted_at < ${BEFORE} AND (',
    wrong: 'const KNOWN = `(',
    suites: ['shared/clickhouse/known-usage', 'services/api/invoice-vectors'],
    each: true,
  },
  {
    name: 'earlier versions of corrected events lack the property tokens',
    file: 'shared/clickhouse/usage/known-usage.ts',
    right: 'named.tokensOf(source, propertyPairs)',
    wrong: '[]',
    suites: ['shared/clickhouse/known-usage'],
  },
  {
    name: 'corrected events are missing from the difference',
    file: 'shared/clickhouse/usage/known-usage.ts',
    right: '(accepted_at >= ${SINCE} OR ifNull(corrected_at >= ${SINCE}, 0))',
    wrong: 'accepted_at >= ${SINCE}',
    suites: ['shared/clickhouse/known-usage'],
  },
  {
    name: 'grants that were given later were known',
    file: 'shared/postgres/grants.ts',
    right: 'OR created_at < to_timestamp($5))',
    wrong: 'OR created_at IS NOT NULL)',
    suites: ['shared/postgres/complete-up-to', 'services/api/invoice-previews'],
    each: true,
  },
  {
    name: 'grants that were voided later were void before',
    file: 'shared/postgres/grants.ts',
    right: 'CASE WHEN coalesce(g.voided_at < to_timestamp($5), true) THEN g.voided_at END AS voided_at',
    wrong: 'voided_at',
    suites: ['shared/postgres/complete-up-to'],
  },
  {
    name: 'credit of a contract that was written later was written before',
    file: 'shared/postgres/contracts.ts',
    right: 'g.created_at < to_timestamp($3)',
    wrong: '$3::float8 IS NOT NULL',
    suites: ['services/api/invoice-previews'],
  },
  {
    name: 'rows of a transaction that is not committed count as known',
    file: 'shared/postgres/complete-up-to.ts',
    right: 'Math.min(loadedUpTo, underWay - ',
    wrong: 'Math.min(loadedUpTo, Math.max(underWay, Date.now() * 1_000) - ',
    suites: ['shared/postgres/complete-up-to', 'services/api/invoice-previews'],
    each: true,
  },
  {
    name: 'a correction that was not sent counts as known',
    file: 'shared/postgres/complete-up-to.ts',
    right: '(sent_at IS NULL OR sent_at >= to_timestamp($2))',
    wrong: 'sent_at >= to_timestamp($2)',
    suites: ['shared/postgres/complete-up-to'],
  },
  {
    name: 'a correction counts as known once it was sent',
    file: 'shared/postgres/complete-up-to.ts',
    right: '(sent_at IS NULL OR sent_at >= to_timestamp($2))',
    wrong: 'sent_at IS NULL AND $2::float8 > 0',
    suites: ['shared/postgres/complete-up-to'],
  },
  {
    name: 'a correction has the time of the gateway’s clock, even if that clock is behind',
    file: 'services/gateway/correct-usage.ts',
    right: 'Math.max(clock(), takenAt)',
    wrong: 'clock()',
    suites: ['shared/postgres/complete-up-to'],
  },
  {
    name: 'a contract had the status before that it has now',
    file: 'shared/previews/preview-invoice.ts',
    right: 'usageAsOf }, knownAt ?? now)',
    wrong: 'usageAsOf }, now)',
    suites: ['services/api/invoice-previews'],
  },
  {
    name: 'the earlier state is the current one: a difference is never shown',
    file: 'shared/previews/preview-invoice.ts',
    right: 'reads.usageBefore(differenceSince)',
    wrong: 'reads.usageBefore(usageAsOf)',
    suites: ['services/api/invoice-previews'],
  },
  {
    name: 'a simulated period is charged by its share of a month',
    file: 'shared/domain/billing/simulate.ts',
    right: '    const share = { seconds: endAt - startAt, of: endAt - startAt }\n',
    wrong: '    const share = { seconds: endAt - startAt, of: Math.max(endAt - startAt, 30 * 86_400) }\n',
    suites: ['services/api/simulations'],
  },
  {
    name: 'the quantile of differences is the rank below the nearest',
    file: 'shared/domain/billing/simulate.ts',
    right: 'Math.max(1, Math.ceil((rising.length * percent) / 100))',
    wrong: 'Math.max(1, Math.floor((rising.length * percent) / 100))',
    suites: ['shared/domain/billing/vectors'],
  },
  {
    name: 'what an account pays is simulated without its own prices and discount',
    file: 'services/api/price-simulations/rate-accounts.ts',
    right:
      '  return { baseline: followed, candidate: { ...candidate, line: { ...followed.line, rateCardId } } }\n',
    wrong:
      '  return {\n    baseline: { ...followed, line: candidate.line },\n    candidate: { ...candidate, line: { ...followed.line, rateCardId } },\n  }\n',
    suites: ['services/api/simulation-worlds'],
  },
  {
    name: 'an account’s own prices and discount are not applied to the tried card',
    file: 'services/api/price-simulations/rate-accounts.ts',
    right: 'candidate: { ...candidate, line: { ...followed.line, rateCardId } }',
    wrong: 'candidate: { ...candidate, line: { ...candidate.line, rateCardId } }',
    suites: ['services/api/simulation-worlds'],
  },
  {
    name: 'a simulation ignores its changes, and uses the rates at its start',
    file: 'services/api/price-simulations/simulate-card.ts',
    right: 'const at = Math.max(range.startAt, ...instantsOf(changes, now))',
    wrong: 'const at = Math.min(range.startAt, ...instantsOf(changes, now))',
    suites: ['services/api/simulations'],
  },
  {
    name: 'credit that a tried change gives at once is not in the preview',
    file: 'shared/previews/preview-invoice.ts',
    right: 'whatIf === undefined ? now : now + 1',
    wrong: 'now',
    suites: ['services/api/invoice-previews'],
  },
  {
    name: 'accounts with more usage than fits into one read are left out of a simulation',
    file: 'services/api/price-simulations/rate-accounts.ts',
    right: '      atATime = Math.floor(some.length / 2)\n',
    wrong: '      rated += some.length\n',
    suites: ['services/api/simulations'],
  },
  {
    name: 'a change has the time of a host whose clock is behind',
    file: 'services/api/core/change-time.ts',
    right: 'Math.max(clock().getTime(), byDatabase)',
    wrong: 'Math.min(clock().getTime(), byDatabase)',
    suites: ['services/api/change-times'],
  },
  {
    name: 'a company with many requests gets all permits to read usage first',
    file: 'shared/batching/fair-semaphore.ts',
    right: '    this.queues.delete(next.tenant)\n    this.queues.set(next.tenant, next.queue)\n',
    wrong: '',
    suites: ['shared/batching/fair-semaphore'],
  },
  {
    name: 'changes of a card by a simulation stay',
    file: 'services/api/price-simulations/simulate-card.ts',
    right: 'changes === undefined ? inNamespace : inNamespaceUndone',
    wrong: 'changes === undefined ? inNamespaceUndone : inNamespace',
    suites: ['services/api/simulations'],
  },
  {
    name: 'accounts that follow a card in another currency are compared by their numbers',
    file: 'services/api/price-simulations/simulated-accounts.ts',
    right: 'all.filter((id) => !others.has(id))',
    wrong: 'all.filter(() => true)',
    suites: ['services/api/simulations'],
  },
  {
    name: 'accounts that follow a card and use nothing are not simulated',
    file: 'services/api/price-simulations/simulated-accounts.ts',
    right: '[...new Set([...followers, ...users])].sort()',
    wrong: '[...new Set(users)].sort()',
    suites: ['services/api/simulations'],
  },
  {
    name: 'the last of the accounts that are read together is left out',
    file: 'shared/clickhouse/usage/rated-usage-statement.ts',
    right: "'account_id BETWEEN {firstAccount:String} AND {lastAccount:String}'",
    wrong: "'account_id >= {firstAccount:String} AND account_id < {lastAccount:String}'",
    suites: ['shared/clickhouse/rated-usage'],
  },
  {
    name: 'a line that no longer exists is left out of the difference',
    file: 'shared/domain/billing/difference.ts',
    right: 'new Map([...before, ...after])',
    wrong: 'new Map([...after])',
    suites: ['shared/domain/billing/difference'],
  },
  {
    name: 'usage of an invoice is split by whole slots, also by open ones',
    file: 'shared/clickhouse/usage/rated-usage-statement.ts',
    right: 'fromEvents: `account_id, ${afterCut(SECOND_OF.events)}, ${UNNAMED}',
    wrong: 'fromEvents: `account_id, ${afterCut(`intDiv(${SECOND_OF.events}, 300) * 300`)}, ${UNNAMED}',
    suites: ['shared/clickhouse/rated-usage'],
  },
  {
    name: 'invoices that are read together are split at the edges of the first one',
    file: 'shared/clickhouse/usage/rated-usage-statement.ts',
    right: 'cutsOfAccounts: lists.map((list) => [0, ...list])',
    wrong: 'cutsOfAccounts: lists.map(() => [0, ...(lists[0] ?? [])])',
    suites: ['shared/clickhouse/rated-usage'],
  },
  {
    name: 'usage of a currency with rates by value is not paid by credit',
    file: 'shared/clickhouse/usage/rated-usage-statement.ts',
    right: '[`(source NOT IN {namedSources:Array(String)}${ofCredit})`]',
    wrong: "['source NOT IN {namedSources:Array(String)}']",
    suites: ['shared/clickhouse/rated-usage'],
  },
  {
    name: 'usage that uses up credit is not read if all of the credit is still to be given',
    file: 'shared/domain/billing/invoice.ts',
    right: 'hasCredit(grantsOf(plan, readings), plan.creditBefore)',
    wrong: 'hasCredit(readings.grants, plan.creditBefore)',
    suites: ['services/api/invoice-worlds'],
  },
  {
    name: 'a contract that ends at the requested second is in the list',
    file: 'shared/postgres/contracts.ts',
    right: 'coalesce(ends_at > to_timestamp($3), true)',
    wrong: 'coalesce(ends_at >= to_timestamp($3), true)',
    suites: ['services/api/invoice-list'],
  },
  {
    name: 'a debit takes the grant that is spent first, not the grant it settles',
    file: 'shared/domain/billing/credit.ts',
    right: 'debited.get(expiresAt) ?? RATIO_ZERO',
    wrong: 'RATIO_ZERO',
    suites: ['shared/domain/billing/naive', 'shared/domain/billing/settling'],
    each: true,
  },
  {
    name: 'broken parts are put aside without a message',
    file: 'clickhouse/0001_usage_events.sql',
    right: 'max_suspicious_broken_parts = 0',
    wrong: 'max_suspicious_broken_parts = 100',
    suites: ['services/standalone/lost-parts'],
  },
  {
    name: 'parts of usage that were put aside are not detected',
    file: 'shared/clickhouse/broken-data-parts.ts',
    right: '  if (others.length > 0) throw lost(others)\n',
    wrong: '',
    suites: ['shared/clickhouse/broken-data-parts'],
  },
  {
    name: 'the audit does not compare months',
    file: 'services/operator/audit/audit-months.ts',
    right: 'if (missing > 0 && first !== undefined)',
    wrong: 'if (missing > counted && first !== undefined)',
    suites: ['services/operator/audit-months'],
  },
  {
    name: 'new usage hides lost usage of a month',
    file: 'shared/usage/recount-usage.ts',
    right: 'missing: Math.max(0, counted - again)',
    wrong: 'missing: Math.max(0, counted - now)',
    suites: ['services/rollup/count-usage'],
  },
  {
    name: 'a month with missing events is counted again, and its loss is forgotten',
    file: 'shared/postgres/usage-counts.ts',
    right:
      'events = CASE WHEN excluded.missing = 0 THEN greatest(c.events, excluded.events) ELSE c.events END',
    wrong: 'events = excluded.events',
    suites: ['services/rollup/count-usage'],
  },
  {
    name: 'a process that is alone with its PostgreSQL checks no clock',
    file: 'services/gateway/open-acceptance.ts',
    right: '  opened.push(await publishWatermark(deps, { settleMs, unrenewedMaxMs, renewBusyMs }))',
    wrong:
      '  if (!alone) opened.push(await publishWatermark(deps, { settleMs, unrenewedMaxMs, renewBusyMs }))',
    suites: ['faults/clocks'],
  },
  {
    name: 'a clock that was just set is used until PostgreSQL is asked',
    file: 'services/gateway/clock-watch.ts',
    right: 'return Math.max(least - lead, lead - most) <= CLOCK_DIFFERENCE_MAX_MICROS\n',
    wrong: 'return Math.max(least - lead, lead - most) <= Infinity\n',
    suites: ['services/gateway/clock-watch'],
  },
  {
    name: 'times of acceptance go back with the clock',
    file: 'shared/time/rising-clock.ts',
    right: '      if (now <= last) return goOn()\n      raiseTo(now)\n',
    wrong: '      last = now\n',
    suites: ['shared/time/rising-clock', 'services/gateway/random-clocks'],
    each: true,
  },
  {
    name: 'the list of events waits until the wall clock reaches the time of acceptance',
    file: 'shared/postgres/lowest-under-way.ts',
    right: 'lowest === Infinity ? Math.max(now, Number(rows[0]?.reached)) : lowest',
    wrong: 'Math.min(now, lowest)',
    suites: ['services/gateway/random-clocks'],
  },
  {
    name: 'a list of events that starts while the clocks are ahead takes living gateways for crashed ones',
    file: 'shared/postgres/lowest-under-way.ts',
    right: 'before?.renewedAt === renewedAt ? before : { renewedAt, ms }',
    wrong: 'before?.renewedAt === renewedAt ? before : { renewedAt, ms: before || counts ? ms : -Infinity }',
    suites: ['services/gateway/random-clocks'],
  },
  {
    name: 'a gateway that starts while the clocks are ahead forgets living gateways',
    file: 'services/gateway/published-watermark.ts',
    right: '    const id = randomUUID()',
    wrong:
      '    for (const row of await table.findExpired()) await table.forgetCrashed(row)\n    const id = randomUUID()',
    suites: ['services/gateway/random-clocks'],
  },
  {
    name: 'usage ahead of a clock that is behind is refused for good',
    file: 'services/gateway/report-usage.ts',
    right: '    if (mayBeBehind()) requireNotAhead(report.events, now)\n',
    wrong: '',
    suites: ['services/gateway/random-clocks'],
  },
  {
    name: 'usage is taken until the disk is full',
    file: 'shared/lifecycle/disk-space.ts',
    right:
      "  if (freeBytes < LITTLE_BYTES || (before !== 'enough' && freeBytes < ENOUGH_BYTES)) return 'little'\n",
    wrong: '',
    suites: ['shared/lifecycle/disk-space'],
  },
  {
    name: 'a start that failed shows the last line of a log',
    file: 'shared/postgres/embedded/cause-in-output.ts',
    right: '    if (found !== undefined) return found\n',
    wrong: '    if (found === undefined) break\n',
    suites: ['shared/postgres/cause-in-output'],
  },
  {
    name: 'a log line that cannot be written throws in its caller',
    file: 'shared/logging/standard-error.ts',
    right: '    } catch {\n      isStuck = true\n      return false\n',
    wrong: '    } catch (err) {\n      isStuck = true\n      throw err\n',
    suites: ['shared/logging/logger', 'services/standalone/full-log'],
    each: true,
  },
  {
    name: 'analysts see the data folder in the list of databases',
    file: 'services/analysts/judge/metadata-tables.ts',
    right: "['data_path', 'metadata_path']",
    wrong: "['data_path']",
    suites: ['services/analysts/attacks'],
  },
  {
    name: 'analysts see the queries of others: their processes let through',
    file: 'services/analysts/judge/metadata-tables.ts',
    right: "  'tables',\n  'time_zones',\n",
    wrong: "  'tables',\n  'time_zones',\n  'user_processes',\n",
    suites: ['services/analysts/attacks'],
  },
  {
    name: "a SETTINGS clause of an analyst's query is applied unseen",
    file: 'services/analysts/analyst-engine.ts',
    right: 'analystSettings(judged.settings, this.limits, rules.zones)',
    wrong: 'Object.fromEntries(judged.settings)',
    suites: ['services/analysts/attacks'],
  },
  {
    name: 'the role of a company reads the views of every company',
    file: 'shared/clickhouse/embedded/engine-config.ts',
    right: '<${role}><grants>${grantOf(database)}</grants></${role}>',
    wrong:
      "<${role}><grants>${grantOf(database)}${companyRolesOf(grants).map((one) => grantOf(one.database)).join('')}</grants></${role}>",
    suites: ['services/analysts/companies'],
  },
  {
    name: 'an analyst queries with the role of another',
    file: 'services/analysts/analyst-scope.ts',
    right: 'role: companyRole(database, number)',
    wrong: 'role: companyRole(database, 3 - number)',
    suites: ['services/analysts/companies'],
  },
  {
    name: 'any password of an analyst is right',
    file: 'services/analysts/analyst-users.ts',
    right: 'timingSafeEqual(named?.digest ?? NO_DIGEST, digest)',
    wrong: 'timingSafeEqual(named?.digest ?? NO_DIGEST, named?.digest ?? digest)',
    suites: ['services/analysts/analyst-users'],
  },
  {
    name: 'a revoked analyst signs in for as long as Tally runs',
    file: 'services/analysts/analyst-users.ts',
    right: 'performance.now() - reading.startedAt < FRESH_MS',
    wrong: 'performance.now() - reading.startedAt < FRESH_MS * 1_000',
    suites: ['services/analysts/analyst-users'],
  },
  {
    name: 'analysts wait in one line, behind all queries of another',
    file: 'services/analysts/analysts.ts',
    right: 'tenant: analyst.name',
    wrong: 'tenant: USER_OF_ALL',
    suites: ['services/analysts/companies'],
  },
  {
    name: 'the views of a test company stay as they are when it is reset',
    file: 'shared/postgres/analysts.ts',
    right: 'd.shown_namespace IS DISTINCT FROM n.namespace_id',
    wrong: 'd.shown_namespace IS NULL AND n.retired_at IS NULL',
    suites: ['services/operator/analyst-statements'],
  },
  {
    name: 'VALUES of an analyst is taken with whatever it computes',
    file: 'services/analysts/judge/judge-tree.ts',
    right: "rows.every((row) => row.kind === 'Literal' && row.detail.startsWith('Tuple_('))",
    wrong: 'rows.every((row) => row.kind !== kind)',
    suites: ['services/analysts/attacks'],
  },
  {
    name: 'the checksum of a compressed block has its words the wrong way round',
    file: 'services/analysts/native/compressed-blocks.ts',
    right: 'block.writeBigUInt64LE(low, 0)\n  block.writeBigUInt64LE(high, 8)',
    wrong: 'block.writeBigUInt64LE(high, 0)\n  block.writeBigUInt64LE(low, 8)',
    suites: ['services/analysts/compressed-blocks'],
  },
  {
    name: 'an answer to an analyst that fails midway ends as if it were whole',
    file: 'services/analysts/reply.ts',
    right: '    res.destroy()\n    throw failed.with',
    wrong: '    res.end()\n    throw failed.with',
    suites: ['services/analysts/streamed-answers'],
  },
  {
    name: 'the end of an answer to an analyst is not sent',
    file: 'services/analysts/answer-folder.ts',
    right:
      'const isComplete = isWritten.aborted\n    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, null)',
    wrong:
      'const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, null)\n    const isComplete = isWritten.aborted || bytesRead < CHUNK_BYTES',
    suites: ['services/analysts/answer-folder'],
  },
  {
    name: 'a filter of a table is used as it was sent, not as it was judged',
    file: 'services/analysts/judge/table-filters.ts',
    right: 'await judgeQuery(session, `${before}${unescaped(filter)}`, {}, limits, rules)',
    wrong: '(await Promise.resolve({ text: `${before}${unescaped(filter)}`, session, limits }))',
    suites: ['services/analysts/attacks'],
  },
  {
    name: 'a connection with a request under way gives way to a new one',
    file: 'shared/http/share-connections.ts',
    right: '    idle.delete(socket)\n    res.once',
    wrong: '    res.once',
    suites: ['shared/http/http-server'],
  },
  {
    name: 'plans of analysts tell how much is in the tables of all companies',
    file: 'services/analysts/judge/judge-query.ts',
    right: 'lines.filter((line) => !SIZES.test(line))',
    wrong: 'lines.filter((line) => !SIZES.test(line) || line.length > 0)',
    suites: ['services/analysts/companies'],
  },
  {
    name: 'clients who read nothing of their answers keep their places',
    file: 'services/analysts/unsent-places.ts',
    right: '  if (stalled === undefined) return\n',
    wrong: '  if (stalled === undefined || performance.now() > 0) return\n',
    suites: ['services/analysts/unsent-places'],
  },
  {
    name: 'wrong passwords of analysts are not limited',
    file: 'services/analysts/password-guesses.ts',
    right: 'if (leftMs > 0) {',
    wrong: 'if (leftMs > 1e9) {',
    suites: ['services/analysts/observed'],
  },
  {
    name: 'each statement of an analyst’s query gets the time limit of the whole query',
    file: 'services/analysts/time-budget.ts',
    right: 'spentMs += performance.now() - startedAt',
    wrong: 'spentMs += 0 * startedAt',
    suites: ['services/analysts/limits'],
  },
  {
    name: 'the counts in an analyst’s pattern are ignored',
    file: 'services/analysts/judge/pattern.ts',
    right: 'size += last * (times - 1)',
    wrong: 'size += 0 * times',
    suites: ['services/analysts/patterns'],
  },
  {
    name: 'usage by day, and its totals, read marked days from rollups',
    file: 'clickhouse/views/parts/closed_days.sql',
    right: '        AND (namespace_id, day) NOT IN marked\n',
    wrong: '',
    each: true,
    suites: ['services/analysts/views', 'shared/clickhouse/analyst-view-histories'],
  },
  {
    name: 'totals by day read the marks a second time, for the events',
    file: 'clickhouse/views/parts/other_days.sql',
    right: '(namespace_id, toDate(occurred_at)) IN marked)',
    wrong: `(namespace_id, toDate(occurred_at)) IN (
            SELECT namespace_id, toDate(slot) FROM {database}.usage_dirty_slots WHERE kind < 2
            GROUP BY namespace_id, account_id, kind, slot, insert_id, stage HAVING sum(change) > 0))`,
    suites: ['shared/clickhouse/analyst-view-histories'],
  },
  {
    name: 'the events of one company are those of all',
    file: 'clickhouse/views/events.sql',
    right: '\n    AND e.namespace_id = {namespace} -- one company',
    wrong: '',
    each: true,
    suites: ['shared/clickhouse/analyst-views', 'shared/clickhouse/analyst-view-histories'],
  },
  {
    name: 'the usage by day of one company has rollups of all',
    file: 'clickhouse/views/parts/closed_days.sql',
    right: 'epoch = complete.1\n        AND namespace_id = {namespace} -- one company',
    wrong: 'epoch = complete.1',
    suites: ['shared/clickhouse/analyst-view-histories'],
  },
  {
    name: 'event changes go by the time of the report alone',
    file: 'clickhouse/views/event_changes.sql',
    right: 'greatest(e.accepted_at, ifNull(e.corrected_at, e.accepted_at))',
    wrong: 'e.accepted_at',
    suites: ['shared/clickhouse/analyst-view-histories'],
  },
  {
    name: 'event changes leave out voided events',
    file: 'clickhouse/views/event_changes.sql',
    right: 'FROM {database}.usage_events AS e FINAL\n',
    wrong: 'FROM {database}.usage_events AS e FINAL\nWHERE e.voided = 0 -- all companies\n',
    suites: ['shared/clickhouse/analyst-view-histories'],
  },
  {
    name: 'views of analysts stay as they are when their namespace is another one',
    file: 'shared/clickhouse/analyst-views.ts',
    right: 'if (found?.comment === note) return false',
    wrong: "if ((found?.comment ?? '') !== '') return false",
    suites: ['shared/clickhouse/analyst-views'],
  },
  {
    name: 'a start ends the PostgreSQL of a running Tally',
    file: 'shared/postgres/embedded/orphan.ts',
    right: '    if (owner !== undefined)\n',
    wrong: '    if (owner === lockFile)\n',
    suites: ['shared/postgres/embedded-postgres'],
  },
  {
    name: 'dimension copied before its transaction ended',
    file: 'services/rollup/copy-dimensions.ts',
    right: '    if (!(await hasSettled(deps, bound, signal))) return { rows: 0, isComplete: false }\n',
    wrong: '    void hasSettled\n',
    suites: ['services/rollup/copy-dimensions'],
  },
  {
    name: 'how far copies are is noted before their rows are stored',
    file: 'services/rollup/copy-dimensions.ts',
    right: '    rows += await copyRows(deps, page, upTo)\n',
    wrong:
      '    await copies.note({ ...copy, position: page.at(-1)?.number ?? upTo })\n    rows += await copyRows(deps, page, upTo)\n',
    suites: ['services/rollup/copy-dimensions'],
  },
  {
    name: 'a dimension row that changes after the look at the changes is skipped',
    file: 'services/rollup/copy-dimensions.ts',
    right: 'const page = await changes.list(last, ROWS_AT_ONCE)',
    wrong: 'const page = (await changes.list(last, ROWS_AT_ONCE)).filter(({ number }) => number <= upTo)',
    suites: ['services/rollup/copy-dimensions'],
  },
  {
    name: 'copies that are being emptied are called complete',
    file: 'services/rollup/copy-dimensions.ts',
    right: '    await copies.note({ fill: again.fill + 1, position: again.position })\n',
    wrong: '',
    suites: ['services/rollup/copy-dimensions'],
  },
  {
    name: 'copies of a later state of PostgreSQL stay when it went back',
    file: 'services/rollup/copy-dimensions.ts',
    right: 'if (current.position <= state.reached) return current',
    wrong: 'if (current.position <= state.reached || current.fill > 0) return current',
    suites: ['services/rollup/copy-dimensions'],
  },
  {
    name: 'a row that was deleted keeps its copy',
    file: 'shared/postgres/dimension-changes.ts',
    right: "`'is_deleted', (r.namespace_id IS NULL)::integer`",
    wrong: "`'is_deleted', 0`",
    suites: ['services/rollup/copy-dimensions'],
  },
  {
    name: 'balances of analysts count grants that expired',
    file: 'clickhouse/views/balances.sql',
    right:
      't.effective_at <= now_micros\n                AND (t.expires_at IS NULL OR t.expires_at > now_micros)',
    wrong: 't.effective_at <= now_micros',
    suites: ['services/standalone/copies-for-analysts'],
  },
  {
    name: 'the audit of copies compares the numbers of changes alone',
    file: 'services/operator/audit/audit-dimensions.ts',
    right: 'row?.number === copy?.number && row?.digest === copy?.digest',
    wrong: 'row?.number === copy?.number',
    suites: ['services/operator/audit-dimensions'],
  },
  {
    name: 'lines of usage stay that a later rating does not have',
    file: 'clickhouse/views/rated_usage.sql',
    right: 'rated_periods AS t FINAL\n',
    wrong: 'rated_periods AS t\n',
    suites: ['services/rollup/rate-contracts'],
  },
  {
    name: 'a period is called final while it is open',
    file: 'services/rollup/rate-periods.ts',
    right: 'made.period.endAt <= made.usageAsOf + Math.floor(aheadMs / 1_000)',
    wrong: 'made.period.startAt <= made.usageAsOf + Math.floor(aheadMs / 1_000)',
    suites: ['services/rollup/rate-contracts'],
  },
  {
    name: 'usage that comes late into a final period is not rated',
    file: 'services/rollup/rate-contracts.ts',
    right: 'for (const { accountId, days } of [...accepted, ...corrected])',
    wrong: 'for (const { accountId, days } of corrected)',
    suites: ['services/rollup/rate-contracts'],
  },
  {
    name: 'only the open period of a changed contract is rated before the next run',
    file: 'services/rollup/rate-changed.ts',
    right: 'changed.slice(0, PERIODS_A_TURN)',
    wrong: 'changed.slice(0, 1)',
    suites: ['services/rollup/rate-changed'],
  },
  {
    name: 'a company that makes many contracts has all turns of ratings',
    file: 'services/rollup/rate-changed.ts',
    right: '    waiting.delete(namespaceId)\n',
    wrong: '',
    suites: ['services/rollup/rate-changed'],
  },
  {
    name: 'contracts that change while a run is under way wait for the next one',
    file: 'services/rollup/rate-contracts.ts',
    right: '    await deps.besides(run.signal)\n',
    wrong: '',
    suites: ['services/rollup/rate-changed'],
  },
  {
    name: 'ratings stay when PostgreSQL went back to an earlier state',
    file: 'shared/clickhouse/rated-periods.ts',
    right: '`${updatedAt.toISOString()} ${fill}`',
    wrong: '`${updatedAt.toISOString()} ${fill > 0}`',
    suites: ['services/rollup/rate-contracts'],
  },
  {
    name: 'a run of a clock that was ahead counts as done',
    file: 'services/rollup/rate-contracts.ts',
    right: ' && ratedAt <= Date.now() * MICROS_PER_MS',
    wrong: '',
    suites: ['services/rollup/rate-contracts'],
  },
  {
    name: 'periods that are read together all have the usage of the first',
    file: 'shared/previews/rate-period.ts',
    right: 'needsUsage(plan) ? read[nth++]',
    wrong: 'needsUsage(plan) ? read[0 * nth++]',
    suites: ['services/rollup/rate-contracts'],
  },
  {
    name: 'one period that cannot be read stops those that are read with it',
    file: 'services/rollup/rate-contracts.ts',
    right: 'if (some.length > 1) return undefined',
    wrong: 'if (some.length > 99) return undefined',
    suites: ['services/rollup/rate-contracts'],
  },
  {
    name: 'the end of a run removes ratings that were made during it',
    file: 'services/rollup/rate-contracts.ts',
    right: 'states.filter((state) => !isRatedIn(state, began))',
    wrong: 'states.filter((state) => !isRatedIn(state, 2 * began))',
    suites: ['services/rollup/rate-changed'],
  },
  {
    name: 'the amount of a day is computed from the usage of the day alone',
    file: 'shared/previews/rate-period.ts',
    right: 'mergeRows([...(soFar.get(piece) ?? []), ...rows])',
    wrong: 'rows',
    suites: ['services/rollup/rate-contracts'],
  },
  {
    name: 'a file of an export has its name before it is whole',
    file: 'clients/analysts/export/whole-file.ts',
    right: '    await handle.close()\n  }\n  await rename(draft, file)\n',
    wrong: '    await handle.close()\n    await rename(draft, file)\n  }\n',
    suites: ['clients/analysts/export'],
  },
  {
    name: 'an export believes what the server says of its rows',
    file: 'clients/analysts/export/run-export.ts',
    right: 'const rows = await countRows(draft, bytes)\n',
    wrong:
      'const rows = (await countRows(draft, bytes)) && Number(/"result_rows":"(\\d+)/.exec(String(answer.headers[\'x-clickhouse-summary\']))?.[1])\n',
    suites: ['clients/analysts/export'],
  },
  {
    name: 'a newline within a value of CSV counts as the end of a row',
    file: 'clients/analysts/export/rows/text-rows.ts',
    right: 'byte === NEWLINE && !isQuoted',
    wrong: 'byte === NEWLINE',
    suites: ['clients/analysts/count-rows', 'clients/analysts/export'],
    each: true,
  },
  {
    name: 'an export goes up to now, whatever is stored',
    file: 'clients/analysts/export/export-queries.ts',
    right: '    view === CHANGES\n      ? `SELECT DISTINCT',
    wrong: '    view === CHANGES && false\n      ? `SELECT DISTINCT',
    suites: ['clients/analysts/export'],
  },
  {
    name: 'a marked day is left out of a page of events by occurrence',
    file: 'shared/clickhouse/events/event-windows.ts',
    right: '...state.dirtyDays.map(',
    wrong: '...state.dirtyDays.slice(0, 0).map(',
    suites: ['shared/clickhouse/events/event-windows', 'shared/clickhouse/events/occurred-events'],
    each: true,
  },
  {
    name: 'a page of events by occurrence begins after the second of its cursor',
    file: 'shared/clickhouse/events/occurred-events.ts',
    right: '? { startAt: begunIn, endAt: ALL_TIME.endAt }',
    wrong: '? { startAt: begunIn + 1, endAt: ALL_TIME.endAt }',
    suites: ['shared/clickhouse/events/occurred-events'],
  },
  {
    name: 'the day that a page of events begins in is taken for a whole one',
    file: 'shared/clickhouse/events/event-windows.ts',
    right: '&& !isWithin(begunIn, span)',
    wrong: '',
    suites: ['shared/clickhouse/events/event-windows'],
  },
  {
    name: 'the newest events first skip those of the same second',
    file: 'shared/clickhouse/events/usage-event-list.ts',
    right: "AND accepted_second <= toDateTime({second:UInt32}, 'UTC')",
    wrong: "AND accepted_second < toDateTime({second:UInt32}, 'UTC')",
    suites: ['services/api/list-events'],
  },
  {
    name: 'a list with the newest first skips items of the same time',
    file: 'shared/postgres/core/resource-table.ts',
    right:
      'conditions.push(`(created_at, ${columns.id}) ${isAfter}\n      (SELECT created_at, ${columns.id} FROM',
    wrong: 'conditions.push(`created_at ${isAfter}\n      (SELECT created_at FROM',
    suites: ['services/api/lists'],
  },
  {
    name: 'accounts are found by the old name of a customer that was renamed',
    file: 'shared/postgres/customers.ts',
    right: 'if (sortName !== undefined && sortName !== before?.sortName)',
    wrong: 'if (sortName !== undefined && before === undefined)',
    suites: ['services/api/search'],
  },
  {
    name: 'accounts are found by an external id that they had before',
    file: 'shared/postgres/core/resource-table.ts',
    right: "typeof externalId === 'string' ? sortNameOf(externalId) : externalId,",
    wrong: "typeof externalId === 'string' ? sortNameOf(externalId) : undefined,",
    suites: ['services/api/search'],
  },
  {
    name: 'a text is searched for as a pattern',
    file: 'shared/postgres/core/resource-table.ts',
    right: '`strpos(search_text, ${parameter}) > 0`',
    wrong: "`search_text LIKE '%' || ${parameter} || '%'`",
    suites: ['services/api/search'],
  },
  {
    name: 'grants that have expired are listed as active',
    file: 'shared/postgres/grants.ts',
    right: 'active: `NOT ${IS_ENDED} AND NOT ${IS_EXPIRED} AND effective_at',
    wrong: 'active: `NOT ${IS_ENDED} AND effective_at',
    suites: ['services/api/grants'],
  },
  {
    name: 'usage by group leaves out the groups that are not named',
    file: 'shared/clickhouse/usage/grouped-usage.ts',
    right: 'rest: rest && {',
    wrong: 'rest: others.length === 0 ? undefined : rest && {',
    suites: ['shared/clickhouse/grouped-usage', 'services/api/grouped-usage'],
    each: true,
  },
  {
    name: 'events whose properties ClickHouse cannot read count as events without the property',
    file: 'shared/clickhouse/usage/property-value.ts',
    right: 'if(isValidJSON(properties), ${VALUE_KIND.without}, ${VALUE_KIND.text})',
    wrong: '${VALUE_KIND.without}',
    suites: ['shared/clickhouse/grouped-usage'],
  },
  {
    name: 'a value that ClickHouse reads only in a part of its events is ranked by that part',
    file: 'shared/clickhouse/usage/grouped-usage.ts',
    right: 'return [...inTexts, ...others',
    wrong: 'return [...others',
    suites: ['shared/clickhouse/grouped-usage'],
  },
  {
    name: 'groups are ordered by averages that are cut off, not by those that are shown',
    file: 'shared/clickhouse/usage/grouped-usage-statement.ts',
    right: '  avg: AVERAGE,',
    wrong: '  avg: AVERAGE.slice(0, MEAN.length),',
    suites: ['shared/clickhouse/grouped-usage'],
  },
  {
    name: 'the groups of the rest are counted in each period',
    file: 'shared/clickhouse/usage/grouped-usage-statement.ts',
    right: 'grouped_by = ${BY_NAME} AND kind = ${VALUE_KIND.value} AND name',
    wrong: 'kind = ${VALUE_KIND.value} AND name',
    suites: ['shared/clickhouse/grouped-usage'],
  },
  {
    name: 'usage of the open day counts in its closed slots and again from its events',
    file: 'shared/clickhouse/rollups/usage-cover.ts',
    right: 'addRange(Math.max(startAt, closedThrough), endAt)',
    wrong: 'addRange(Math.max(startAt, dayOf(closedThrough)), endAt)',
    suites: ['shared/clickhouse/grouped-usage'],
  },
  {
    name: 'usage of the open day counts only up to its last closed slot',
    file: 'shared/clickhouse/rollups/usage-cover.ts',
    right: 'addRange(Math.max(startAt, closedThrough), endAt)',
    wrong: 'addRange(Math.max(startAt, dayOf(closedThrough) + DAY_S), endAt)',
    suites: ['shared/clickhouse/grouped-usage'],
  },
  {
    name: 'in a balance by day, usage of the first day counts twice',
    file: 'services/api/balances/daily-balance.ts',
    right: 'range: { startAt: 0, endAt: first }',
    wrong: 'range: { startAt: 0, endAt: first + DAY_S }',
    suites: ['services/api/daily-balance'],
  },
  {
    name: 'in a balance by day, the balance now lacks usage after the day of now',
    file: 'services/api/balances/daily-balance.ts',
    right: 'const end = hasNow ? ALL_TIME.endAt : last + DAY_S',
    wrong: 'const end = hasNow ? Math.min(ALL_TIME.endAt, nowS) : last + DAY_S',
    suites: ['services/api/daily-balance'],
  },
  {
    name: 'a grant that was voided counts on the days before',
    file: 'shared/postgres/grant-changes.ts',
    right: ' AND voided_at IS NULL AND archived_at IS NULL)',
    wrong: ')',
    suites: ['services/api/daily-balance'],
  },
  {
    name: 'a grant counts at the end of the day on which it expires',
    file: 'shared/postgres/grant-changes.ts',
    right: 'SELECT expires_at, -amount',
    wrong: "SELECT expires_at + interval '1 day', -amount",
    suites: ['services/api/daily-balance'],
  },
  {
    name: 'the page of the console may have inline styles',
    file: 'services/api/console/serve-console.ts',
    right: `  "style-src 'self'",\n`,
    wrong: `  "style-src 'self' 'unsafe-inline'",\n`,
    suites: ['services/api/console'],
  },
  {
    name: 'the console adds quantities as floats',
    file: 'console/src/format/decimal.ts',
    right: 'formatRatio(sumRatios(texts.map(parseRatio)))\n',
    wrong: 'String(texts.map(Number).reduce((sum, value) => sum + value, 0))\n',
    suites: ['console/format/decimal'],
  },
  {
    name: 'a stack of bars leaves out the rest',
    file: 'console/src/plots/prepare/bars.ts',
    right: '.keys(series.map((_, index) => index))',
    wrong: '.keys(series.flatMap(({ isRest }, index) => (isRest === true ? [] : [index])))',
    suites: ['console/plots/prepare'],
  },
  {
    name: 'the console keeps the key where all tabs read it',
    file: 'console/src/app/keys.ts',
    right: '  else sessionStorage.setItem(',
    wrong: '  else (localStorage.setItem(ITEM, JSON.stringify(keys)), sessionStorage).setItem(',
    suites: ['console/journeys'],
  },
  {
    name: 'the console keeps what it has read when the key is refused',
    file: 'console/src/app/app.tsx',
    right: '  queries.clear()\n',
    wrong: '',
    suites: ['console/journeys'],
  },
  {
    name: 'a form of the console has another key at each attempt',
    file: 'console/src/api/use-write.ts',
    right: 'await client.call(request)) as T',
    wrong: 'await client.call({ ...request, idempotencyKey: newSubmission().key })) as T',
    suites: ['console/journeys'],
  },
  {
    name: 'the console keeps a new key in a cache',
    file: 'console/src/api/use-write.ts',
    right: 'return isSecret ? { ...outcome, answer: undefined } : outcome',
    wrong: 'return isSecret ? { ...outcome } : outcome',
    suites: ['console/company-journeys'],
  },
  {
    name: 'first steps take an event of before for theirs',
    file: 'console/src/api/queries/events.ts',
    right: 'start_at: at, end_at: at + 1',
    wrong: 'start_at: at - 86_400, end_at: at + 1',
    suites: ['console/start-journeys'],
  },
  {
    name: 'first steps make an account again after the grant failed',
    file: 'console/src/pages/start/make-all.ts',
    right: 'part.id ??= await makePart(',
    wrong: 'part.id = await makePart(',
    suites: ['console/start-journeys'],
  },
  {
    name: 'the console rounds the digits of a fraction',
    file: 'console/src/format/fraction.ts',
    right: '((isBelow ? -numerator : numerator) * scale) / denominator\n',
    wrong: '((isBelow ? -numerator : numerator) * scale + denominator / 2n) / denominator\n',
    suites: ['console/format/fraction'],
  },
  {
    name: 'periods on a line of time begin on the 28th at the latest',
    file: 'console/src/format/period.ts',
    right: 'Math.min(day, daysOfIt)',
    wrong: 'Math.min(day, daysOfIt, 28)',
    suites: ['console/format/period'],
  },
  {
    name: 'a copied link to a preview does not fix what was known',
    file: 'console/src/pages/contracts/preview-body.tsx',
    right: '      known_at: instantParameter(preview.usage_as_of),\n',
    wrong: '',
    suites: ['console/contracts-journeys'],
  },
  {
    name: 'Stop leaves the request of a preview running',
    file: 'console/src/api/use-read.ts',
    right: 'void queries.cancelQueries({ queryKey: key, exact: true })',
    wrong: 'void queries.invalidateQueries({ queryKey: key, exact: true, refetchType: "none" })',
    suites: ['console/contracts-journeys'],
  },
  {
    name: 'a stack of usage leaves out the groups that have no colour',
    file: 'console/src/plots/prepare/stacks.ts',
    right: 'const beyond = data.slice(COLOURS)',
    wrong: 'const beyond = data.slice(data.length)',
    suites: ['console/plots/stacks'],
  },
  {
    name: 'a value in a plot changes its colour with its rank',
    file: 'console/src/plots/prepare/colours.ts',
    right: '[key, before.get(key) ?? free.shift() ?? COLOURS]',
    wrong: '[key, shown.indexOf(key) + 1]',
    suites: ['console/plots/stacks'],
  },
  {
    name: 'a ranking of the console leaves out what belongs to no value',
    file: 'console/src/parts/ranking.tsx',
    right: '...(without === null\n',
    wrong: '...(without === null || without.event_count > 0\n',
    suites: ['console/explore-journeys'],
  },
  {
    name: 'the statement for analysts takes an average as a float',
    file: 'console/src/format/usage-sql.ts',
    right: "avg: 'sum(e.quantity) / count()'",
    wrong: "avg: 'avg(e.quantity)'",
    suites: ['console/usage-sql'],
  },
]
