import importSort from 'eslint-plugin-simple-import-sort'
import tseslint from 'typescript-eslint'

// Why not Biome: one lost `await` here is a lost batch, so the linter must know the real types.
export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', 'contract/*.d.ts'] },
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
    // Why: readers whose language is not English stumble over these words. Plainer ones say the same: "called with",
    // "callers that", "again".
    files: ['{services,shared,clients,bench,tools}/**/*.ts'],
    rules: { 'no-warning-comments': ['error', { terms: ['told', 'whoever', 'anew'], location: 'anywhere' }] },
  },
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
