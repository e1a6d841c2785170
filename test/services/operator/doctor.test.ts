import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import path from 'node:path'
import { expect } from 'chai'
import kafkajs from 'kafkajs'
import { checkPostgres } from '../../../services/operator/doctor/check-postgres.ts'
import { checkExposure, checkPasswords } from '../../../services/operator/doctor/check-settings.ts'
import { checkUpdates } from '../../../services/operator/doctor/check-updates.ts'
import { clockDifference } from '../../../services/operator/doctor/clock-difference.ts'
import { failed, type Finding, runChecks } from '../../../services/operator/doctor/finding.ts'
import { spaceFinding } from '../../../services/operator/doctor/space-finding.ts'
import { readMigrations } from '../../../shared/config/migration-files.ts'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { newApiKey } from '../../../shared/domain/api-key.ts'
import { issueKey } from '../../../shared/keys/issue-key.ts'
import { rotateKey } from '../../../shared/keys/rotate-key.ts'
import { apiKeyRepository } from '../../../shared/postgres/api-keys.ts'
import type { Pool, Queryable } from '../../../shared/postgres/core/pool.ts'
import { makeCompany } from '../../../shared/postgres/make-company.ts'
import { type CommandResult, openPoolByHand, runCommand, runProgram } from '../../support/by-hand.ts'
import { findKafka } from '../../support/kafka.ts'
import { closeRedis, startRedis } from '../../support/redis.ts'
import { envOfServices, migrateEngines, startSharedEngines } from '../../support/start-services.ts'
import { startTally } from '../../support/start-tally.ts'
import { makeReport } from '../../support/usage-event.ts'
import { type AuditStage, makeAuditStage } from './audit-stage.ts'

const findingsOf = ({ output }: CommandResult): Finding[] => {
  const line = output.split('\n').find((text) => text.startsWith('{"findings"')) ?? '{}'
  return (JSON.parse(line) as { findings: Finding[] }).findings
}
/** Findings except those about PostgreSQL updates, which depend on the newest release. */
const bad = (findings: readonly Finding[]) =>
  findings.filter(({ part, level }) => level !== 'ok' && part !== 'PostgreSQL updates')
const kinds = (findings: readonly Finding[]) => findings.map(({ part, level }) => `${level} ${part}`)

/** A database that returns another value for one setting. */
const answering = (pool: Pool, name: string, setting: string): Queryable => ({
  query: (async (text: string, values?: unknown[]) => {
    const result = await pool.query<Record<string, unknown>>(text, values)
    for (const row of result.rows) if (row['name'] === name) row['setting'] = setting
    return result
  }) as Queryable['query'],
})

describe('npm run doctor', function () {
  this.timeout(120_000)

  describe('in a running Tally', () => {
    it('finds a new one as it should be', async () => {
      // Why a separate Tally: the doctor checks a whole installation, which must be new.
      const tally = await startTally()
      try {
        const { code, output } = await runCommand(tally.dataFolder, 'doctor')
        expect(code, output).to.equal(0)
        expect(output).not.to.match(/^failed/m)
        for (const part of [
          'PostgreSQL: version 18',
          'ClickHouse: version 26',
          'event log',
          'disk of DATA_DIR',
        ])
          expect(output).to.match(new RegExp(`^ok +${part}`, 'm'))
        expect(output).to.match(/^(ok|warning) +PostgreSQL updates: 18\.\d+/m)
        expect(output).to.match(/^ok +ports: open only to this machine$/m)
        const strict = await runCommand(tally.dataFolder, 'doctor', '--strict')
        expect(strict.code).to.equal(/^warning/m.test(output) ? 1 : 0)
      } finally {
        await tally.discard()
      }
    })

    it('says that none runs', async () => {
      const { code, output } = await runCommand('/nowhere', 'doctor')
      expect(code).to.equal(1)
      expect(output).to.contain('start Tally with npm start, or set DATA_DIR')
    })
  })

  describe('finds what is planted:', () => {
    let stage: AuditStage
    let superuser: Pool

    before(async () => {
      stage = await makeAuditStage('doctor')
      superuser = openPoolByHand(stage.db.superuserUrl)
    })
    after(async () => {
      await superuser.end()
      await stage.close()
    })

    const look = async () => {
      const result = await stage.run('doctor', '--json')
      const found = bad(findingsOf(result))
      expect(result.code).to.equal(found.some(({ level }) => level === 'failed') ? 1 : 0)
      return found
    }
    /** Returns the findings during a fault, and checks that they are absent before and after. */
    const lookWhile = async (plant: () => Promise<unknown>, mend: () => Promise<unknown>) => {
      const before = kinds(await look())
      await plant()
      try {
        const found = (await look()).filter((finding) => !before.includes(kinds([finding])[0] ?? ''))
        expect(found.length, 'findings').to.be.greaterThan(0)
        return found
      } finally {
        await mend()
        expect(kinds(await look())).to.deep.equal(before)
      }
    }

    it('rollups that fell behind, late usage that waits, and a rebuild that was cut short', async () => {
      const epoch = (number: number, state: number, agoS: number) =>
        stage.change(
          `INSERT INTO rollup_epochs (epoch, slot_s, closing_through, closed_through, state, changed_at)
            SELECT ${number}, 300, now() - ${agoS}, now() - ${agoS}, ${state}, now() - ${agoS}`,
        )
      const mark = (agoS: number, isStored = 1) =>
        stage.change(
          `INSERT INTO usage_dirty_slots SELECT 'n', 'a', 0, toDateTime('2026-01-01 00:00:00', 'UTC'), 7, ${isStored}, now() - ${agoS}, 1`,
        )
      const forget = async () => {
        await stage.change('TRUNCATE TABLE usage_dirty_slots')
        await stage.change('TRUNCATE TABLE rollup_epochs')
        await epoch(0, 2, 0)
      }
      const saysOf = (findings: readonly Finding[]) => {
        expect(kinds(findings)).to.deep.equal(['warning rollups'])
        return findings[0]?.says
      }
      await forget()
      await epoch(1, 1, 600) // so that the finding is not the absence of rollups
      await mark(3_000)
      expect(kinds(await look())).not.to.include('warning rollups')
      await stage.change('TRUNCATE TABLE rollup_epochs')
      await epoch(0, 2, 0)
      await epoch(1, 1, 7_200)
      expect(saysOf((await look()).filter(({ part }) => part === 'rollups'))).to.match(
        /^they end 720\d s ago, .*npm run rollup run\?/,
      )
      await forget()
      await epoch(1, 1, -7_200)
      expect(saysOf((await look()).filter(({ part }) => part === 'rollups'))).to.match(
        /^they end in 7[12]\d\d s: the clock of ClickHouse was set back/,
      )
      await forget()
      await epoch(1, 1, 600)
      await mark(7_200)
      expect(saysOf((await look()).filter(({ part }) => part === 'rollups'))).to.match(
        /^1 marks of late usage wait, the oldest for 720\d s, .*raise ROLLUP_ROWS_PER_S/,
      )
      await forget()
      await epoch(1, 1, 600)
      await mark(7_200, 0)
      await mark(600)
      expect(saysOf((await look()).filter(({ part }) => part === 'rollups'))).to.match(
        /^1 marks of late usage wait, the oldest for 720\d s, .*npm run loader/,
      )
      await forget()
      await epoch(1, 1, 600)
      await epoch(2, 0, 7_200)
      expect(saysOf((await look()).filter(({ part }) => part === 'rollups'))).to.match(
        /^epoch 2 was begun 720\d s ago: .*npm run rebuild.*run it again$/,
      )
      await forget()
    })

    it('a migration that was changed, and one that is missing', async () => {
      const { rows } = await superuser.query<{ checksum: string }>(
        "SELECT checksum FROM tally.schema_migrations WHERE name = '0005_grants'",
      )
      const set = (checksum: string) => () =>
        superuser.query("UPDATE tally.schema_migrations SET checksum = $1 WHERE name = '0005_grants'", [
          checksum,
        ])
      const changed = await lookWhile(set('another'), set(rows[0]?.checksum ?? ''))
      expect(kinds(changed)).to.deep.equal(['failed PostgreSQL migrations'])
      expect(changed[0]?.says).to.contain('0005_grants was changed after it was applied')
      const missing = await lookWhile(
        () => superuser.query("UPDATE tally.schema_migrations SET name = '0005' WHERE name = '0005_grants'"),
        () => superuser.query("UPDATE tally.schema_migrations SET name = '0005_grants' WHERE name = '0005'"),
      )
      expect(kinds(missing)).to.deep.equal(['failed PostgreSQL migrations'])
      const unapplied = await lookWhile(
        () =>
          stage.change(
            "ALTER TABLE schema_migrations DELETE WHERE name = '0007_reported_currencies' SETTINGS mutations_sync = 1",
          ),
        async () => {
          const files = await readMigrations(path.join(PROJECT_ROOT, 'clickhouse'))
          const { checksum } = files.find(({ name }) => name === '0007_reported_currencies') ?? {}
          await stage.change(
            `INSERT INTO schema_migrations (name, checksum) VALUES ('0007_reported_currencies', '${checksum ?? ''}')`,
          )
        },
      )
      expect(kinds(unapplied)).to.deep.equal(['failed ClickHouse migrations'])
      expect(unapplied[0]?.says).to.contain('0007_reported_currencies is missing: run npm run migrate')
    })

    it('a PostgreSQL that does not write to disk', async () => {
      for (const [plant, mend] of [
        [
          'ALTER ROLE tally_service SET synchronous_commit = off',
          'ALTER ROLE tally_service RESET synchronous_commit',
        ],
        [
          `ALTER DATABASE ${stage.db.name} SET synchronous_commit = off`,
          `ALTER DATABASE ${stage.db.name} RESET synchronous_commit`,
        ],
      ] as const) {
        const found = await lookWhile(
          () => superuser.query(plant),
          () => superuser.query(mend),
        )
        expect(kinds(found)).to.deep.equal(['failed PostgreSQL durability'])
        expect(found[0]?.says).to.contain(
          'synchronous_commit is off: a power cut loses usage that was acknowledged',
        )
      }
      // The test server cannot have other values, because they are fixed on its command line.
      for (const [name, level] of [
        ['fsync', 'failed'],
        ['full_page_writes', 'warning'],
      ] as const) {
        const found = bad(await checkPostgres(answering(stage.db.pool, name, 'off'), false))
        expect(kinds(found)).to.deep.equal([`${level} PostgreSQL durability`])
        expect(found[0]?.says).to.contain(`${name} is off`)
      }
      expect(
        kinds(bad(await checkPostgres(answering(stage.db.pool, 'server_version_num', '150004'), false))),
      ).to.deep.equal(['failed PostgreSQL'])
    })

    it('a role that nothing holds back', async () => {
      const found = await lookWhile(
        () => superuser.query('ALTER ROLE tally_service BYPASSRLS'),
        () => superuser.query('ALTER ROLE tally_service NOBYPASSRLS'),
      )
      expect(kinds(found)).to.deep.equal(['failed PostgreSQL role'])
    })

    it('a table of ClickHouse that does not write to disk', async () => {
      const set = (value: number) => () =>
        stage.change(`ALTER TABLE usage_events MODIFY SETTING fsync_after_insert = ${value}`)
      const found = await lookWhile(set(0), set(1))
      expect(kinds(found)).to.deep.equal(['failed ClickHouse durability'])
      expect(found[0]?.says).to.contain('usage_events is without fsync_after_insert = 1')
    })

    it('a ClickHouse that the usage is not in', async () => {
      const { rows } = await superuser.query<{ id: string }>('SELECT id FROM tally.usage_store')
      const enter = (id = '') => superuser.query('UPDATE tally.usage_store SET id = $1', [id])
      const found = await lookWhile(
        () => enter(randomUUID()),
        () => enter(rows[0]?.id),
      )
      expect(kinds(found)).to.deep.equal(['failed ClickHouse of this Tally'])
      expect(found[0]?.says).to.contain('the usage of this Tally is in another ClickHouse')
    })

    it('records that wait, dead letters, gateways that fell silent and keys that end', async () => {
      const at = Date.now() * 1_000 - 600e6
      await stage.append(0, [makeReport({ acceptedAt: at })], at)
      const behind = await look()
      expect(kinds(behind)).to.contain('failed event log')
      await stage.load(0)
      const pool = stage.db.pool
      await pool.query(
        "INSERT INTO dead_letters (topic, partition, log_offset, line, reason, value) VALUES ('t', 0, 0, 0, 'r', 'v')",
      )
      await pool.query(
        `INSERT INTO gateways VALUES (gen_random_uuid(), 0, 0, now() - interval '20 s', now() + interval '1 min')`,
      )
      const companyId = await makeCompany(pool, { name: 'Doctor', mode: 'live' }, async (db, company) => {
        const issue = (name: string, days: number | null) =>
          issueKey(db, null, {
            companyId: company,
            name,
            permissions: ['read:all'],
            accountId: null,
            secret: newApiKey('live'),
            expiresAt: days === null ? null : new Date(Date.now() + days * 86_400_000),
          })
        await issue('soon\u001b[2J', 3)
        await issue('later', 30)
        for (const name of ['rotated', 'rotated and used']) {
          const { id } = await issue(name, null)
          await rotateKey(db, null, {
            companyId: company,
            keyId: id,
            mode: 'live',
            oldKeyEnd: { afterS: 3_600 },
          })
        }
      })
      const { items } = await apiKeyRepository(pool).list(companyId, { limit: 10 })
      const used = items.find(({ name, replacedBy }) => name === 'rotated and used' && replacedBy !== null)
      await superuser.query(
        "UPDATE tally.api_keys SET last_used_at = now() + interval '5 min' WHERE key_id = $1",
        [used?.id],
      )
      const found = await look()
      expect(kinds(found)).to.deep.equal([
        'warning dead letters',
        'warning gateways',
        'warning API keys',
        'warning API keys',
      ])
      const text = found.map(({ says }) => says).join('\n')
      expect(text).to.match(/^1 wait: npm run dead-letters/m)
      expect(text).to.match(/^1 fell silent: .* for (5\d|60) s more$/m)
      expect(text).to.match(/\(rotated and used\) of Doctor ends \S+: it was rotated, and is still used/)
      expect(text).to.contain('(soon\\u{1b}[2J) of Doctor ends')
      expect(text).not.to.contain('later')
      expect((await stage.run('doctor')).code).to.equal(0)
      expect((await stage.run('doctor', '--strict')).code).to.equal(1)
      const { output } = await stage.run('doctor')
      const warnings = output.split('\n').filter((line) => line.startsWith('warning ')).length
      expect(warnings).to.be.within(4, 5) // with or without a finding about updates
      expect(output).to.contain(`0 failed, ${warnings} warnings`)
    })
  })

  it('names every engine that is away', async () => {
    const free = createServer().listen(0, '127.0.0.1')
    await once(free, 'listening')
    const { port } = free.address() as { port: number }
    free.close()
    await once(free, 'close')
    const nowhere = `127.0.0.1:${port}`
    const env = {
      DATABASE_URL: `postgres://tally:tally@${nowhere}/tally`,
      DATABASE_OWNER_URL: `postgres://owner:x@${nowhere}/tally`,
      CLICKHOUSE_URL: `http://default@${nowhere}`,
      KAFKA_BROKERS: nowhere,
      REDIS_URL: `redis://${nowhere}`,
    }
    const result = await runProgram('operator/main', env, 'doctor', '--json')
    expect(result.code, result.output).to.equal(1)
    expect(kinds(bad(findingsOf(result)))).to.deep.equal([
      'failed PostgreSQL',
      'failed ClickHouse',
      'failed Kafka',
      'failed Redis',
      'warning passwords',
      'warning passwords',
    ])
    for (const { part, says } of findingsOf(result).slice(0, 3)) expect(says, part).to.contain('ECONNREFUSED')
  })

  describe('with Kafka and Redis', () => {
    let brokers: string
    let admin: kafkajs.Admin

    before(async function () {
      brokers = await findKafka(this)
      admin = new kafkajs.Kafka({
        clientId: 'test',
        brokers: brokers.split(','),
        logLevel: kafkajs.logLevel.NOTHING,
      }).admin()
      await admin.connect()
    })
    after(async () => {
      await admin.disconnect()
      await closeRedis()
    })

    it('finds topics that lose usage, or are not there', async function () {
      const redis = await startRedis(this, '--maxmemory', '10mb', '--maxmemory-policy', 'noeviction')
      const engines = await startSharedEngines('doctor', brokers)
      try {
        const env = { ...envOfServices(engines), DATABASE_OWNER_URL: engines.db.ownerUrl, ...redis.env }
        const topic = `${engines.env['KAFKA_TOPIC_PREFIX'] ?? ''}usage-events`
        const look = async (more: Record<string, string> = {}) => {
          const result = await runProgram('operator/main', { ...env, ...more }, 'doctor', '--json')
          return { ...result, found: bad(findingsOf(result)) }
        }
        const unmigrated = await look()
        expect(unmigrated.code).to.equal(1)
        expect(kinds(unmigrated.found)).to.include.members([
          `failed topic ${topic}`,
          'failed ClickHouse migrations',
        ])
        await migrateEngines(engines)
        const well = await look()
        expect(well.code, well.output).to.equal(0)
        expect(kinds(well.found).filter((kind) => kind.includes(topic))).to.include(`warning topic ${topic}`)
        expect(well.found.map(({ says }) => says).join()).to.contain('1 replica: with fewer than 3')
        expect(kinds(well.found)).to.include('warning Redis')
        expect(kinds(findingsOf(well))).to.include.members(['ok Kafka versions', 'ok Redis'])
        for (const [name, value] of [
          ['retention.ms', '60000'],
          ['cleanup.policy', 'compact'],
        ] as const) {
          const set = async (configEntries: { name: string; value: string }[]) => {
            await admin.alterConfigs({
              validateOnly: false,
              resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configEntries }],
            })
          }
          const right = [
            { name: 'retention.ms', value: '-1' },
            { name: 'retention.bytes', value: '-1' },
            { name: 'unclean.leader.election.enable', value: 'false' },
            { name: 'message.timestamp.type', value: 'LogAppendTime' },
          ]
          await set([...right.filter((entry) => entry.name !== name), { name, value }])
          const wrong = await look()
          expect(wrong.code).to.equal(1)
          const failures = wrong.found.filter(({ level }) => level === 'failed')
          expect(kinds(failures)).to.deep.equal([`failed topic ${topic}`])
          expect(failures[0]?.says).to.contain(`${name} is ${value}, which`)
        }
        const few = await look({ EVENT_LOG_PARTITIONS: '9' })
        expect(few.found.map(({ says }) => says).join()).to.contain('4 partitions, EVENT_LOG_PARTITIONS is 9')
      } finally {
        await engines.close()
      }
    })
  })

  describe('judges', () => {
    it('versions of PostgreSQL by the holes that newer ones close', () => {
      const look = (num: number, isEmbedded = false) => checkUpdates('updates', num, isEmbedded)
      expect(look(180_004).level).to.equal('warning')
      expect(look(180_004).says).to.match(
        /^18\.4 has known security holes, which 18\.6 of .* closes: install it$/,
      )
      expect(look(180_004, true)).to.include({ level: 'warning' })
      expect(look(180_004, true).says)
        .to.contain('only programs on this machine reach')
        .and.contain('bring your own')
      expect(look(160_014).says).to.contain('16.15')
      for (const num of [180_006, 180_007, 170_011, 190_000]) expect(look(num).level, `${num}`).to.equal('ok')
    })

    it('clocks by what cannot be the way of the answer', async () => {
      const at = (ms: number) => clockDifference('clock', () => Promise.resolve(Date.now() + ms))
      for (const [ms, level] of [
        [0, 'ok'],
        [-900, 'ok'],
        [2_000, 'warning'],
        [-2_000, 'warning'],
        [60_000, 'failed'],
      ] as const)
        expect((await at(ms)).level, String(ms)).to.equal(level)
    })

    it('the room that is left', () => {
      const GB = 1e9
      for (const [free, total, level] of [
        [50, 100, 'ok'],
        [4, 10, 'ok'],
        [4, 100, 'warning'],
        [0.5, 100, 'failed'],
      ] as const)
        expect(spaceFinding('disk', free * GB, total * GB).level, `${free} of ${total}`).to.equal(level)
    })

    it('passwords and addresses', () => {
      expect(
        kinds(checkPasswords({ A: 'postgres://a:Postgres@h/x', B: 'postgres://me:me@h/x' })),
      ).to.deep.equal(['warning passwords', 'warning passwords'])
      expect(kinds(checkPasswords({ A: 'postgres://a:6f1d0c@h/x', B: undefined }))).to.deep.equal([
        'ok passwords',
      ])
      expect(kinds(checkExposure({ HOST: '0.0.0.0', ADMIN_HOST: '127.0.0.1' }))).to.deep.equal([
        'warning ports',
      ])
      expect(kinds(checkExposure({ HOST: 'localhost', ADMIN_HOST: '::1' }))).to.deep.equal(['ok ports'])
    })

    it('what throws as a failure, in one line, beside the others', async () => {
      const findings = await runChecks([
        { part: 'one', look: () => Promise.reject(new Error('a\n  b')) },
        { part: 'other', look: () => Promise.resolve([failed('other', 'x')]) },
      ])
      expect(findings).to.deep.equal([failed('one', 'a b'), failed('other', 'x')])
    })
  })
})
