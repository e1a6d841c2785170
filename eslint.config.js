import importSort from 'eslint-plugin-simple-import-sort'
import tseslint from 'typescript-eslint'

/** Numbers of the API are exact text. As floats they would lose digits. */
const FLOATS = [
  {
    selector: 'Identifier[name=/^(Number|parseFloat|parseInt|valueAsNumber)$/]',
    message: 'A number that is shown never passes through a float. Only plots/prepare makes pixels of it.',
  },
  { selector: 'UnaryExpression[operator="+"]', message: 'This makes a float, see Number.' },
]
/** Text of others is never markup or an address. */
const MARKUP = [
  {
    selector: 'JSXAttribute[name.name="dangerouslySetInnerHTML"]',
    message: 'Text of others is text.',
  },
  {
    selector: 'MemberExpression[property.name=/^(innerHTML|outerHTML|insertAdjacentHTML)$/]',
    message: 'Text of others is text.',
  },
]
const ADDRESSES = [
  {
    selector: 'JSXAttribute[name.name=/^(href|src|action)$/] > JSXExpressionContainer',
    message: 'An address is never made of data: use Link, which takes the name of a route.',
  },
  {
    selector: 'AssignmentExpression[left.property.name=/^(href|src|action|location)$/]',
    message: 'An address is never made of data: use Link, which takes the name of a route.',
  },
]

// Why not Biome: one lost `await` here is a lost batch, so the linter must know the real types.
export default tseslint.config(
  {
    ignores: [
      '{,clients/*/}dist/**',
      'node_modules/**',
      'contract/*.d.ts',
      'clients/sdk/globals.d.ts',
      // These are built with packages that are not installed here.
      'test/clients/sdk/package/**',
      'test/long/*/*.mjs',
    ],
  },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    // No comment switches a rule off: what is excepted stands below.
    linterOptions: { noInlineConfig: true },
    plugins: { 'import-sort': importSort },
    rules: {
      // Of Node, of packages, of folders above, of this one, without lines in between; `eslint --fix` does it.
      'import-sort/imports': ['error', { groups: [['^node:', '^@?\\w', '^\\.']] }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      'no-console': 'error',
      'max-lines-per-function': ['error', { max: 70, skipComments: true, IIFEs: true }],
    },
  },
  { files: ['**/*.js', '**/*.cjs'], ...tseslint.configs.disableTypeChecked },
  // mocha reads settings that are made by a program as CommonJS alone.
  { files: ['**/*.cjs'], rules: { '@typescript-eslint/no-require-imports': 'off' } },
  {
    // A repository is one function that holds the statements of a table, each of them short.
    files: [
      'shared/clickhouse/events/usage-event-list.ts',
      'shared/clickhouse/rollups/{dirty-slots,rollup-tables}.ts',
      'shared/postgres/{contract-lines,contracts,grants,refill-configurations}.ts',
    ],
    rules: { 'max-lines-per-function': 'off' },
  },
  {
    // A resource is one function that holds its methods.
    files: ['**/*.gen.ts'],
    rules: { 'max-lines-per-function': 'off' },
  },
  {
    // Why: readers whose language is not English stumble over these words. Plainer ones say the same: "called with",
    // "callers that", "again".
    files: ['{services,shared,clients,console,bench,tools}/**/*.{ts,tsx}'],
    rules: { 'no-warning-comments': ['error', { terms: ['told', 'whoever', 'anew'], location: 'anywhere' }] },
  },
  {
    files: ['clients/cli/**/*.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['fetch', 'WebSocket', 'EventSource'].map((name) => ({ name, message: 'Call Tally by the SDK.' })),
      ],
    },
  },
  {
    files: ['console/src/**/*.{ts,tsx}'],
    rules: {
      // Styles first: the order of layers stands in the first one.
      'import-sort/imports': ['error', { groups: [['^\\u0000', '^node:', '^@?\\w', '^\\.']] }],
      // Handlers of events in one line.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      'no-restricted-syntax': ['error', ...FLOATS, ...MARKUP, ...ADDRESSES],
      'no-restricted-imports': [
        'error',
        {
          paths: [
            {
              name: 'react',
              importNames: ['useEffect', 'useLayoutEffect', 'useInsertionEffect'],
              message: 'Effects stand in app/effects.ts alone, where their cleanup can be read.',
            },
          ],
        },
      ],
    },
  },
  {
    files: ['console/src/app/link.tsx', 'console/src/parts/download.ts'],
    rules: { 'no-restricted-syntax': ['error', ...FLOATS, ...MARKUP] },
  },
  {
    files: ['console/src/plots/prepare/*.ts'],
    rules: { 'no-restricted-syntax': ['error', ...MARKUP, ...ADDRESSES] },
  },
  {
    // The only way to copy on a page over plain http, where browsers offer no clipboard.
    files: ['console/src/parts/copy-text.ts'],
    rules: { '@typescript-eslint/no-deprecated': 'off' },
  },
  { files: ['console/src/app/effects.ts'], rules: { 'no-restricted-imports': 'off' } },
  {
    files: ['test/**/*.ts'],
    rules: {
      // chai's property assertions are expressions on purpose.
      '@typescript-eslint/no-unused-expressions': 'off',
      // What describes a subject holds all of its tests.
      'max-lines-per-function': 'off',
    },
  },
)
