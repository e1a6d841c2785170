import { ClickHouseException } from '../exception.ts'
import type { TimeZones } from './time-zones.ts'

/**
 * Types that a value may be converted to. The most important omission is AggregateFunction: its values are inner states
 * of aggregate functions, which the engine reads from the caller's bytes without checking them.
 */
const TYPES = new Set(
  `array bfloat16 bigint bool boolean char character date date32 datetime datetime32 datetime64 dec decimal decimal128
  decimal256 decimal32 decimal64 double dynamic enum enum16 enum8 fixed fixedstring float float32 float64 int int1 int128
  int16 int2 int256 int32 int4 int64 int8 integer intervalday intervalhour intervalminute intervalmonth intervalquarter
  intervalsecond intervalweek intervalyear ipv4 ipv6 json lowcardinality map nothing nullable numeric precision real signed
  single smallint string text time time64 timestamp tinyint tuple uint128 uint16 uint256 uint32 uint64 uint8 unsigned uuid
  varchar variant`.split(/\s+/),
)

const TOKEN = /'([^'\\:]*)'|([A-Za-z_]\w*)|[\d(),=\s.-]/y

/**
 * Checks the text of a type: every name in it must be a type of the list, or the name of a tuple's element, which is
 * followed by another name.
 *
 * @throws ClickHouseException naming the type that is not allowed
 */
export function requireDataType(text: string, zones: TimeZones): void {
  const hasZones = /datetime|timestamp/i.test(text)
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < text.length) {
    const match = TOKEN.exec(text)
    if (match === null) throw refusal(text)
    const [, quoted, word] = match
    if (quoted !== undefined && hasZones) zones.require(quoted)
    if (word === undefined || TYPES.has(word.toLowerCase())) continue
    if (!/^\s+[A-Za-z_]/.test(text.slice(TOKEN.lastIndex, TOKEN.lastIndex + 10))) throw refusal(word)
  }
}

const refusal = (what: string): ClickHouseException =>
  new ClickHouseException('UNKNOWN_TYPE', `the data type ${what} is not allowed here.`)
