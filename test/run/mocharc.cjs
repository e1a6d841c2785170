const { readFileSync, readdirSync } = require('node:fs')
const path = require('node:path')
const { slow, processes, quick } = require('./files.json')

const TESTS = path.join(__dirname, '..')
/** More than a machine of two cores has: much of what tests do is to wait. */
const LANES = 3

/** Every test file: below test/, without its ending. */
const files = readdirSync(TESTS, { recursive: true })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => name.replaceAll(path.sep, '/').slice(0, -'.test.ts'.length))
  .sort()

/**
 * The settings of mocha for some of the test files, several at once in processes of their own. What takes longest begins
 * first, so that no process is left with a long one in the end. TEST_ONLY=TEXT takes those whose name has the text, of
 * whichever tier but the long one.
 *
 * @param {(file: string) => boolean} isWanted
 * @param {boolean} takesLong whether TEST_ONLY takes those of the long tier, too
 */
const mocharc = (isWanted, takesLong = false) => {
  const only = process.env.TEST_ONLY
  const lanes = Number(process.env.TEST_LANES ?? LANES)
  const seconds = (file) => slow[file] ?? processes[file] ?? quick[file] ?? 0
  const wanted = files
    .filter(only === undefined ? isWanted : (file) => file.includes(only) && (takesLong || !isLong(file)))
    .sort((a, b) => seconds(b) - seconds(a))
  return {
    // Of the sources: what was deleted may still be built.
    spec: wanted.map((file) => `dist/test/${file}.test.js`),
    require: ['dist/test/run/root-hooks.js'],
    'node-option': ['enable-source-maps'],
    parallel: wanted.length > 1 && lanes > 1,
    jobs: lanes,
    timeout: 60_000,
    slow: 4_000,
    exit: true,
    reporter: 'dist/test/run/spec-reporter.js',
  }
}

const isSlow = (file) => file in slow
/** Whether a file runs with services as processes only. */
const isOfProcesses = (file) => file in processes
const isLong = (file) => file.startsWith('long/')
const isQuick = (file) => !isSlow(file) && !isOfProcesses(file) && !isLong(file)
const textOf = (file) => readFileSync(path.join(TESTS, `${file}.test.ts`), 'utf8')
/** Whether FAULT_LONG=1 makes a file longer. */
const hasLongForm = (file) => file.startsWith('faults/') || /\b(FAULT_LONG|IS_LONG)\b/.test(textOf(file))
/** Whether a file tests over HTTP alone, whatever serves it. */
const isOverHttp = (file) =>
  /^(contract|services\/api|services\/test-area)\//.test(file) ||
  textOf(file).includes('/tally-under-test.ts')
/** Whether a file says why the layout of the services makes no difference to it. */
const isOfOneLayout = (file) => textOf(file).includes('// Why in one layout: ')
/** Whether a file has tests that a machine with only Node and a shell skips. */
const mayBePending = (file) =>
  /\/(run\/pending|support\/(?:kafka|redis|nginx)|use-(?:browser|console))\.ts'/.test(textOf(file))

module.exports = {
  mocharc,
  isQuick,
  isSlow,
  isOfProcesses,
  isLong,
  hasLongForm,
  isOverHttp,
  isOfOneLayout,
  mayBePending,
}
