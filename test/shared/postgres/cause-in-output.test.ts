import { expect } from 'chai'
import { causeInOutput } from '../../../shared/postgres/embedded/cause-in-output.ts'

describe('the cause in what PostgreSQL printed', () => {
  it('is the full disk, wherever else it fails for that', () => {
    const initdb = [
      '2026-08-13 10:00:00.000 UTC [7] FATAL:  could not write to file "pg_wal/xlogtemp.7": No space left on device',
      'child process exited with exit code 1',
      'initdb: error: could not create directory',
      'initdb: removing contents of data directory "/data/postgres.new"',
    ]
    expect(causeInOutput(initdb.join('\n'))).to.equal(
      'FATAL: could not write to file "pg_wal/xlogtemp.7": No space left on device',
    )
  })

  it('is a panic or a fatal error, not that the server ends because of it', () => {
    const log = [
      '2026-08-13 10:00:00.000 UTC [8] LOG:  starting PostgreSQL 18.4',
      '2026-08-13 10:00:00.100 UTC [9] FATAL:  the database system is starting up',
      '2026-08-13 10:00:00.200 UTC [8] FATAL:  could not load server certificate file "server.crt"',
      '2026-08-13 10:00:00.300 UTC [10] FATAL:  the database system is shutting down',
      '2026-08-13 10:00:00.400 UTC [8] LOG:  database system is shut down',
    ]
    expect(causeInOutput(log.join('\n'))).to.equal(
      'FATAL: could not load server certificate file "server.crt"',
    )
    log.splice(2, 0, '2026-08-13 10:00:00.200 UTC [11] PANIC:  could not locate a valid checkpoint record')
    expect(causeInOutput(log.join('\n'))).to.equal('PANIC: could not locate a valid checkpoint record')
  })

  it('is an error of a program that has no levels, or else its last line', () => {
    expect(causeInOutput('initdb: error: invalid locale name "x"\ninitdb: hint: try another\n')).to.equal(
      'initdb: error: invalid locale name "x"',
    )
    expect(causeInOutput('one\ntwo\n\n')).to.equal('two')
    expect(causeInOutput('')).to.equal('')
  })
})
