import { ClickHouseException } from '../exception.ts'
import {
  FORMATTING,
  LOOKING_THROUGH,
  PADDING,
  PATTERN_ARGUMENT_OF,
  SEARCHING,
  TYPE_ARGUMENT_OF,
  ZONE_ARGUMENT_OF,
} from './allowed-functions.ts'
import { requireDataType } from './data-type.ts'
import type { FunctionNames } from './function-names.ts'
import { requireSmallPattern } from './pattern.ts'
import { requirePlainPath, type SyntaxNode } from './syntax-tree.ts'
import type { TimeZones } from './time-zones.ts'

export interface CallRules {
  functions: FunctionNames
  zones: TimeZones
  /** The views, by the names that a query may use. */
  tables: ReadonlySet<string>
}

/**
 * Checks a call of a function: its name, and arguments that are more than plain values, such as types and patterns.
 *
 * @throws ClickHouseException saying what is not allowed
 */
export function requireHarmlessCall(call: SyntaxNode, { functions, zones, tables }: CallRules): void {
  const name = call.detail
  const canonical = functions.findAllowed(name)
  if (canonical === undefined) throw refusedFunction(name, functions)
  const args = call.children.find(({ kind }) => kind === 'ExpressionList')?.children ?? []
  for (const arg of args) if (arg.kind === 'Identifier') requireNoFunction(arg, functions)
  if (/^(?:global)?(?:not)?(?:null)?in$/i.test(canonical)) requireSet(args[1], tables)
  if (SEARCHING.has(canonical)) requireNeedle(args, canonical)
  if (LOOKING_THROUGH.has(canonical)) requireWrittenOut(args, canonical)
  if (PADDING.has(canonical)) requireWrittenLength(args, canonical)
  if (FORMATTING.has(canonical)) requireWrittenFormat(args, canonical)
  if (canonical === 'getSubcolumn') requirePlainPath(requireText(args[1], 'a subcolumn'))
  const patternAt = PATTERN_ARGUMENT_OF.get(canonical)
  if (patternAt !== undefined) requirePattern(args[patternAt], canonical)
  const typeAt = TYPE_ARGUMENT_OF.get(canonical)
  if (typeAt !== undefined) requireDataType(requireText(args.at(typeAt), 'a data type'), zones)
  const zoneFrom = ZONE_ARGUMENT_OF.get(canonical)
  if (zoneFrom !== undefined) for (const arg of args.slice(zoneFrom)) requireZoneOrNumber(arg, zones)
}

function refusedFunction(name: string, functions: FunctionNames): ClickHouseException {
  return functions.isForbidden(name)
    ? new ClickHouseException('ACCESS_DENIED', `the function ${name} is not for analysts.`)
    : new ClickHouseException('UNKNOWN_FUNCTION', `Function with name \`${name}\` does not exist.`)
}

/**
 * Why: an argument may be a function. There, the engine takes a name for a function, so `arrayMap(file, […])` reads
 * files.
 */
function requireNoFunction({ detail }: SyntaxNode, functions: FunctionNames): void {
  if (functions.isForbidden(detail))
    throw new ClickHouseException(
      'ACCESS_DENIED',
      `${detail} is the name of a function that is not for analysts: give the column another name, with AS.`,
    )
}

/** Why: the engine takes a name on the right of IN for a table, and calls table functions there. */
function requireSet(set: SyntaxNode | undefined, tables: ReadonlySet<string>): void {
  if (set?.kind === 'Function' && /^format$/i.test(set.detail))
    throw new ClickHouseException(
      'ACCESS_DENIED',
      'IN format(…) is a table function, which is not for analysts.',
    )
  if (set?.kind === 'Identifier' && set.detail.includes('.') && !tables.has(set.detail))
    throw new ClickHouseException(
      'ACCESS_DENIED',
      `IN ${set.detail}: that is not one of the analysts' views; for a column, use has().`,
    )
}

const NEEDLE_CHARACTERS_MAX = 256

function requireNeedle(args: readonly SyntaxNode[], name: string): void {
  // The text that is searched for is the first argument of splitByString. For locate, a setting decides whether it is
  // the first or the second.
  const needles = name === 'locate' ? args.slice(0, 2) : [args[name === 'splitByString' ? 0 : 1]]
  const isShort = needles.some((needle) => {
    const text = needle === undefined ? undefined : findText(needle)
    return text !== undefined && text.length <= NEEDLE_CHARACTERS_MAX
  })
  if (!isShort)
    throw new ClickHouseException(
      'ACCESS_DENIED',
      `the text that ${name} searches for must be a literal of at most ${NEEDLE_CHARACTERS_MAX} characters, without backslashes.`,
    )
}

const LENGTH_MAX = 1_000

function requireWrittenLength([text, length]: readonly SyntaxNode[], name: string): void {
  const [, written] = /^UInt64_(\d+)$/.exec(length?.kind === 'Literal' ? length.detail : '') ?? []
  const isShort = written !== undefined && Number(written) <= LENGTH_MAX
  const isShortText = text?.kind === 'Literal' && text.detail.length <= LENGTH_MAX
  if (!isShort || (name === 'repeat' && !isShortText))
    throw new ClickHouseException(
      'ACCESS_DENIED',
      name === 'repeat'
        ? `the text of repeat must be a literal of at most ${LENGTH_MAX} characters with its quotes, and its number a literal of at most ${LENGTH_MAX}.`
        : `the length of ${name} must be a literal, a number of at most ${LENGTH_MAX}.`,
    )
}

const FORMAT_CHARACTERS_MAX = 256
/** A width of printf that is too large, or that may be: an asterisk takes it from an argument. */
const WIDTH = /\d{4}|\*/

function requireWrittenFormat([format]: readonly SyntaxNode[], name: string): void {
  const text = format === undefined ? undefined : findText(format)
  if (text === undefined || text.length > FORMAT_CHARACTERS_MAX || (name === 'printf' && WIDTH.test(text)))
    throw new ClickHouseException(
      'ACCESS_DENIED',
      `the first argument of ${name} must be a literal of at most ${FORMAT_CHARACTERS_MAX} characters, without backslashes and without widths above 999.`,
    )
}

/** The longest list that counts as a short literal. Nobody writes a longer one by hand. */
const LIST_CHARACTERS_MAX = 4_096
/** The functions that make a token of a property. */
const HASHING = /^(?:property|SHA256|substring|lower|hex|unhex|toFixedString|negate|_CAST|CAST)$/i

/** Checks that the value searched for is the same for all rows, or that the list is a short literal. */
function requireWrittenOut([list, value]: readonly SyntaxNode[], name: string): void {
  const isShortList = list?.kind === 'Literal' && list.detail.length <= LIST_CHARACTERS_MAX
  if (isShortList || (value !== undefined && isWrittenOut(value))) return
  throw new ClickHouseException(
    'ACCESS_DENIED',
    `the value that ${name} searches for must be a literal, or its list must be a short literal; for longer lists, use IN.`,
  )
}

const isWrittenOut = ({ kind, detail, children }: SyntaxNode): boolean =>
  kind === 'Literal' ||
  (kind === 'Function' && HASHING.test(detail) && (children[0]?.children.every(isWrittenOut) ?? false))

function requirePattern(arg: SyntaxNode | undefined, name: string): void {
  const literal = arg?.kind === 'Function' && arg.detail === '_CAST' ? arg.children[0]?.children[0] : arg
  if (literal?.kind !== 'Literal' || !/^'.*'$/s.test(literal.detail))
    throw new ClickHouseException('ACCESS_DENIED', `the pattern of ${name} must be a literal of text.`)
  requireSmallPattern(literal.detail.slice(1, -1))
}

/** Why only literals: the engine computes constants before it checks them, so anything else could become any text. */
function requireText(arg: SyntaxNode | undefined, what: string): string {
  const text = arg === undefined ? undefined : findText(arg)
  if (text !== undefined) return text
  throw new ClickHouseException(
    'ACCESS_DENIED',
    `${what} must be a literal of text here, without backslashes.`,
  )
}

function requireZoneOrNumber(arg: SyntaxNode, zones: TimeZones): void {
  if (arg.kind === 'Literal' && /^(?:U?Int64|Float64)_/.test(arg.detail)) return
  if (arg.kind === 'Literal' && arg.detail === 'NULL') return
  if (arg.kind === 'Function' && /^toInterval[A-Z]/.test(arg.detail)) return
  if (arg.kind === 'Function' && arg.detail === '_CAST' && /^'U?Int\d+'$/.test(typeOfCast(arg))) return
  zones.require(requireText(arg, 'a time zone'))
}

/** The text of a literal, or of a parameter, which the engine writes as a conversion of a literal. */
function findText(node: SyntaxNode): string | undefined {
  const { kind, detail, children } = node
  if (kind === 'Function' && detail === '_CAST') {
    const value = children[0]?.children[0]
    return value !== undefined && typeOfCast(node) === "'String'" ? findText(value) : undefined
  }
  if (kind !== 'Literal' || !/^'.*'$/s.test(detail)) return undefined
  const text = detail.slice(1, -1).replaceAll("\\'", "'")
  return text.includes('\\') ? undefined : text
}

const typeOfCast = ({ children }: SyntaxNode): string => children[0]?.children[1]?.detail ?? ''
