import { ClickHouseException } from '../exception.ts'
import { type CallRules, requireHarmlessCall } from './require-harmless-call.ts'
import { requirePlainPath, type SyntaxNode } from './syntax-tree.ts'

const QUERIES = ['SelectWithUnionQuery', 'SelectIntersectExceptQuery', 'SelectQuery']
const COLUMNS = [
  'Asterisk',
  'QualifiedAsterisk',
  'ColumnsListMatcher',
  'ColumnsRegexpMatcher',
  'QualifiedColumnsListMatcher',
  'QualifiedColumnsRegexpMatcher',
]
const EXPRESSIONS = ['Literal', 'Identifier', 'Function', 'Subquery', ...COLUMNS]

/**
 * Which nodes may be in which other nodes: a closed list of the parts of a SELECT. Everything that is absent is
 * refused: other statements, SETTINGS (`Set`), INTO OUTFILE, and APPLY, whose function EXPLAIN AST does not show.
 */
const CHILDREN: Readonly<Record<string, readonly string[]>> = {
  SelectWithUnionQuery: ['ExpressionList'],
  SelectIntersectExceptQuery: QUERIES,
  SelectQuery: ['ExpressionList', 'TablesInSelectQuery', ...EXPRESSIONS],
  ExpressionList: [
    ...EXPRESSIONS,
    'ExpressionList',
    'WithElement',
    'OrderByElement',
    'WindowListElement',
    'InterpolateElement',
  ],
  WithElement: ['Subquery', 'ExpressionList'],
  Subquery: ['SelectWithUnionQuery'],
  Function: ['ExpressionList', 'WindowDefinition'],
  WindowListElement: ['WindowDefinition'],
  WindowDefinition: ['ExpressionList', ...EXPRESSIONS],
  OrderByElement: EXPRESSIONS,
  InterpolateElement: EXPRESSIONS,
  TablesInSelectQuery: ['TablesInSelectQueryElement'],
  TablesInSelectQueryElement: ['TableExpression', 'TableJoin', 'ArrayJoin'],
  TableExpression: ['TableIdentifier', 'Subquery', 'SampleRatio'],
  TableJoin: ['ExpressionList', ...EXPRESSIONS],
  ArrayJoin: ['ExpressionList'],
  ...Object.fromEntries(
    COLUMNS.map((kind) => [kind, ['Identifier', 'ExpressionList', 'ColumnsTransformerList']]),
  ),
  ColumnsTransformerList: ['ColumnsExceptTransformer', 'ColumnsReplaceTransformer'],
  ColumnsExceptTransformer: ['Identifier'],
  ColumnsReplaceTransformer: ['ColumnsReplaceTransformer::Replacement'],
  'ColumnsReplaceTransformer::Replacement': EXPRESSIONS,
  Literal: [],
  Identifier: [],
  TableIdentifier: [],
  SampleRatio: [],
}

const WHAT_IT_IS: Readonly<Record<string, string>> = {
  Set: 'a SETTINGS clause',
  ColumnsApplyTransformer: 'APPLY',
  'TableExpression Function': 'a table function',
  'SelectWithUnionQuery Literal': 'INTO OUTFILE',
  'SelectWithUnionQuery Identifier': 'a second FORMAT clause',
}

/**
 * Checks that a statement is one SELECT over the analysts' views, made of allowed functions.
 *
 * @throws ClickHouseException saying what is not allowed
 */
export function judgeTree(root: SyntaxNode, rules: CallRules): void {
  if (root.kind !== 'SelectWithUnionQuery') throw refusal('a statement other than SELECT')
  walk(root, CHILDREN, rules)
}

function walk(node: SyntaxNode, grammar: typeof CHILDREN, rules: CallRules): void {
  const { kind, detail, children } = node
  if (kind === 'Function') requireHarmlessCall(node, rules)
  if (kind === 'TableIdentifier') requireTable(detail, rules.tables)
  if (kind === 'Identifier') requirePlainPath(detail)
  // The list of a union has queries, every other list has expressions.
  const isUnion = kind === 'SelectWithUnionQuery'
  const allowed = grammar[kind] ?? []
  for (const child of children) {
    if (kind === 'TableExpression' && isWrittenTable(child)) continue
    if (!allowed.includes(child.kind))
      throw refusal(WHAT_IT_IS[`${kind} ${child.kind}`] ?? WHAT_IT_IS[child.kind] ?? `${child.kind} here`)
    walk(child, isUnion ? UNION : CHILDREN, rules)
  }
}

/** The name of the one table function that analysts may use. */
export const isValues = (name: string): boolean => /^values$/i.test(name)

/**
 * Whether a table is a list of rows in the query: `VALUES ((1, 'a'), (2, 'b'))`. Why each row must be a tuple: the
 * engine would take a text in the first place for the types of the columns.
 */
function isWrittenTable({ kind, detail, children }: SyntaxNode): boolean {
  const rows = children.flatMap((list) => list.children)
  return (
    kind === 'Function' &&
    isValues(detail) &&
    rows.length > 0 &&
    rows.every((row) => row.kind === 'Literal' && row.detail.startsWith('Tuple_('))
  )
}

const UNION: typeof CHILDREN = { ...CHILDREN, ExpressionList: QUERIES }

function requireTable(name: string, tables: ReadonlySet<string>): void {
  // A name without a dot is a CTE of the query, or a table in the analysts' database, which has only their views.
  if (!/^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) && !tables.has(name))
    throw new ClickHouseException(
      'ACCESS_DENIED',
      `analyst: Not enough privileges: ${name} is not one of the analysts' views.`,
    )
}

const refusal = (what: string): ClickHouseException =>
  new ClickHouseException(
    'ACCESS_DENIED',
    `${what} is not allowed: analysts may run one SELECT over their views.`,
  )
