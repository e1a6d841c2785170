import fc from 'fast-check'

const TOKEN = /'(?:[^'\\]|\\.)*'|`[^`]*`|"[^"]*"|\w+|\s+|[^\w\s]/g

type Mutation =
  | { kind: 'drop' | 'double' | 'quote' | 'shout' | 'comment' | 'break'; at: number }
  | { kind: 'splice'; at: number; from: number; count: number }
  | { kind: 'insert'; at: number; text: string }
  | { kind: 'wrap'; frame: number }

/** Frames around a query or a part of one. */
const FRAMES: ((query: string) => string)[] = [
  (q) => `SELECT * FROM (${q})`,
  (q) => `WITH x AS (${q}) SELECT * FROM x`,
  (q) => `SELECT (${q})`,
  (q) => `SELECT 1 WHERE 1 IN (${q})`,
  (q) => `SELECT EXISTS (${q})`,
  (q) => `${q} UNION ALL ${q}`,
  (q) => `SELECT arrayMap(x -> (${q}), [1])`,
  (q) => `SELECT * FROM events AS e JOIN (${q}) AS f ON 1 = 1`,
  (q) => `EXPLAIN ${q}`,
  (q) => `(${q})`,
  (q) => `${q} FORMAT JSONEachRow`,
  (q) => `WITH (${q}) AS y SELECT y, toString(y)`,
  (q) => `SELECT * APPLY(x -> (${q})) FROM events`,
  (q) => `SELECT 1; ${q}`,
  (q) => `/* ${q} */ SELECT 1`,
  (q) => `SELECT 1 SETTINGS x = (${q})`,
]

const SNIPPETS = [
  ', file',
  'file(',
  'arrayMap(file, ',
  'APPLY(file)',
  ' IN ',
  ' AS x',
  '; ',
  ' -- ',
  '/*',
  '*/',
  '$$',
  '`',
  '"',
  "'",
  '\0',
  '\u00a0',
  '\u200b',
  '\ufeff',
  'ｆｉｌｅ',
  '\\',
  '{x:Identifier}',
  '{x:String}',
  '::String',
  '.',
  '*',
  '(',
  ')',
  '[',
  ']',
  ', ',
  'system.',
  'FINAL',
  'SETTINGS max_threads = 1',
  'FORMAT CSV',
  'INTO OUTFILE ',
  'x -> ',
  'view(',
  'FROM ',
]

const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  fc.record({
    kind: fc.constantFrom(
      'drop' as const,
      'double' as const,
      'quote' as const,
      'shout' as const,
      'comment' as const,
      'break' as const,
    ),
    at: fc.nat(),
  }),
  fc.record({
    kind: fc.constant('splice' as const),
    at: fc.nat(),
    from: fc.nat(),
    count: fc.integer({ min: 1, max: 8 }),
  }),
  fc.record({ kind: fc.constant('insert' as const), at: fc.nat(), text: fc.constantFrom(...SNIPPETS) }),
  fc.record({ kind: fc.constant('wrap' as const), frame: fc.nat({ max: FRAMES.length - 1 }) }),
)

/** Queries that differ from the corpus by a few random changes, with parts of other queries inserted. */
export function mutatedQueries(corpus: readonly string[]): fc.Arbitrary<string> {
  return fc
    .tuple(fc.constantFrom(...corpus), fc.constantFrom(...corpus), fc.array(mutation, { maxLength: 5 }))
    .map(([query, other, mutations]) => mutations.reduce((text, one) => mutate(text, other, one), query))
}

function mutate(query: string, other: string, mutation: Mutation): string {
  if (mutation.kind === 'wrap') return FRAMES[mutation.frame]?.(query) ?? query
  const tokens = query.match(TOKEN) ?? []
  const at = mutation.at % (tokens.length + 1)
  const token = tokens[at] ?? ''
  const replaceBy = (...replacement: string[]) => tokens.toSpliced(at, 1, ...replacement).join('')
  switch (mutation.kind) {
    case 'drop':
      return replaceBy()
    case 'double':
      return replaceBy(token, ' ', token)
    case 'quote':
      return replaceBy(/^\w+$/.test(token) ? `\`${token}\`` : token)
    case 'shout':
      return replaceBy(token === token.toUpperCase() ? token.toLowerCase() : token.toUpperCase())
    case 'comment':
      return replaceBy(token, '/* x */')
    case 'break':
      return replaceBy(token, '\n')
    case 'insert':
      return replaceBy(token, mutation.text)
    case 'splice': {
      const others = other.match(TOKEN) ?? []
      const from = mutation.from % (others.length + 1)
      return replaceBy(token, ...others.slice(from, from + mutation.count))
    }
  }
}
