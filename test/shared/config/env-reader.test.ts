import { expect } from 'chai'
import { ConfigError, EnvReader } from '../../../shared/config/env-reader.ts'

describe('settings', () => {
  it('are read with their defaults, and an empty one counts as unset', () => {
    const read = new EnvReader({ A: '5', B: '', C: 'x', D: 'two' })
    expect(read.integer('A', { about: '', default: 1, min: 0, max: 10 })).to.equal(5)
    expect(read.integer('B', { about: '', default: 1, min: 0, max: 10 })).to.equal(1)
    expect(read.string('C', { about: '', default: 'y' })).to.equal('x')
    expect(read.optional('MISSING', { about: '' })).to.equal(undefined)
    expect(read.oneOf('D', ['one', 'two'], { about: '', default: 'one' })).to.equal('two')
    read.done()
  })

  it('are listed, and what tests alone choose otherwise is not', () => {
    const read = new EnvReader({ A: '5', B: '7', C: '11' })
    read.integer('A', { about: '', default: 1, min: 0, max: 10 })
    expect(read.tuning('B', { default: 1, min: 0, max: 10 })).to.equal(7)
    expect(read.tuning('MISSING', { default: 1, min: 0, max: 10 })).to.equal(1)
    expect(read.settings.map(({ name }) => name)).to.deep.equal(['A'])
    read.done()
    read.tuning('C', { default: 1, min: 0, max: 10 })
    expect(() => {
      read.done()
    }).to.throw(ConfigError, /C must be/)
  })

  it('complain once, about everything', () => {
    const read = new EnvReader({ A: '11', B: '1.5', C: 'three', D: 'http://x', E: 'nonsense' })
    read.integer('A', { about: '', default: 1, min: 0, max: 10 })
    read.integer('B', { about: '', default: 1, min: 0, max: 10 })
    read.oneOf('C', ['one', 'two'], { about: '', default: 'one' })
    read.url('D', ['postgres:'], { about: '' })
    read.url('E', ['postgres:'], { about: '' })
    read.refuse('F and G exclude each other')
    expect(() => {
      read.done()
    })
      .to.throw(ConfigError)
      .with.property('message')
      .that.matches(
        /A must be.*\n.*B must be.*\n.*C must be one of one, two.*\n.*D must be.*\n.*E must be.*\n.*F and G/,
      )
  })

  it('never show a secret', () => {
    const read = new EnvReader({ URL: 'postgres://user:hunter2@host/db', S: 'hunter2' })
    read.url('URL', ['postgres:'], { about: '' })
    read.optional('S', { about: '', secret: true })
    expect(JSON.stringify(read.settings)).to.not.contain('hunter2')
  })
})
