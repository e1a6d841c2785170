import { ClickHouseException } from '../exception.ts'
import { requireDataType } from './data-type.ts'
import type { TimeZones } from './time-zones.ts'

/** A token of ClickHouse's own lexer. */
export type Token = readonly [type: string, text: string]

const TOKENS_MAX = 200_000
const NAME_BYTES_MAX = 256

const TYPES = new Set(
  `Arrow Asterisk BareWord ClosingCurlyBrace ClosingRoundBracket ClosingSquareBracket Colon Comma Concatenation Dot DoubleColon
  Equals Greater GreaterOrEquals Less LessOrEquals Minus NotEquals Number OpeningCurlyBrace OpeningRoundBracket
  OpeningSquareBracket Percent Plus QuestionMark QuotedIdentifier Slash Spaceship StringLiteral Caret`.split(
    /\s+/,
  ),
)

/**
 * Checks what EXPLAIN AST would hide. EXPLAIN AST writes names unchanged, so a name with a line break could look like
 * other nodes. It also replaces parameters by their values, so a parameter of the type Identifier could be any name.
 *
 * @param tokens of the text as ClickHouse formats it, without whitespace; if the text has no brace, values and commas
 *   may be left out
 * @param params of this request; each parameter must have a value in it, so that no value of an earlier request is used
 * @throws ClickHouseException saying what is not allowed
 */
export function requireHarmlessTokens(
  tokens: readonly Token[],
  params: Readonly<Record<string, string>>,
  zones: TimeZones,
): void {
  if (tokens.length > TOKENS_MAX)
    throw new ClickHouseException('TOO_BIG_AST', `the query has more than ${TOKENS_MAX} tokens.`)
  for (const [type, text] of tokens) {
    if (!TYPES.has(type)) throw new ClickHouseException('SYNTAX_ERROR', `${type} is not allowed here.`)
    if (type === 'QuotedIdentifier' || type === 'BareWord') requirePlainName(text)
  }
  tokens.forEach(([type], i) => {
    if (type === 'OpeningCurlyBrace') requireParameter(parameterAt(tokens, i), params, zones)
  })
}

function requirePlainName(name: string): void {
  if (Buffer.byteLength(name) > NAME_BYTES_MAX)
    throw new ClickHouseException('TOO_BIG_AST', `a name is longer than ${NAME_BYTES_MAX} bytes.`)
  if (/[\\\p{Cc}]| \((?:alias|children|column) /u.test(name))
    throw new ClickHouseException(
      'ACCESS_DENIED',
      `the name ${name} has characters that are not allowed here.`,
    )
}

/** Longer than any type that is allowed. */
const TYPE_TOKENS_MAX = 200

/** `{name:Type}`: the tokens between the braces. */
function parameterAt(tokens: readonly Token[], brace: number): readonly Token[] {
  const following = tokens.slice(brace + 1, brace + 1 + TYPE_TOKENS_MAX)
  const end = following.findIndex(([type]) => type === 'ClosingCurlyBrace')
  return following.slice(0, Math.max(0, end))
}

function requireParameter(
  [name, colon, ...type]: readonly Token[],
  params: Readonly<Record<string, string>>,
  zones: TimeZones,
): void {
  if (name?.[0] !== 'BareWord' || colon?.[0] !== 'Colon')
    throw new ClickHouseException('SYNTAX_ERROR', 'a brace does not hold a parameter.')
  if (!Object.hasOwn(params, name[1]))
    throw new ClickHouseException('UNKNOWN_QUERY_PARAMETER', `Substitution \`${name[1]}\` is not set.`)
  const text = type.map(([, part]) => part).join(' ')
  if (/identifier/i.test(text))
    throw new ClickHouseException('ACCESS_DENIED', 'parameters of the type Identifier are not allowed here.')
  requireDataType(text, zones)
}
