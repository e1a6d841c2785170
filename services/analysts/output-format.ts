import { ClickHouseException } from './exception.ts'

const TEXT = 'text/plain; charset=UTF-8'
const JSON_TYPE = 'application/json; charset=UTF-8'
const TSV = 'text/tab-separated-values; charset=UTF-8'
const BYTES = 'application/octet-stream'

/**
 * The formats that analysts may ask for, by content type. It is a closed list, because some formats of ClickHouse read
 * a schema or a template from a file.
 */
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  [JSON_TYPE]: [
    'JSON',
    'JSONStrings',
    'JSONColumns',
    'JSONColumnsWithMetadata',
    'JSONCompact',
    'JSONCompactStrings',
    'JSONCompactColumns',
    'JSONObjectEachRow',
  ],
  'application/x-ndjson; charset=UTF-8': [
    'JSONEachRow',
    'JSONLines',
    'NDJSON',
    'JSONStringsEachRow',
    'JSONCompactEachRow',
    'JSONCompactEachRowWithNames',
    'JSONCompactEachRowWithNamesAndTypes',
    'JSONCompactStringsEachRow',
    'JSONCompactStringsEachRowWithNames',
    'JSONCompactStringsEachRowWithNamesAndTypes',
    'PrettyJSONEachRow',
  ],
  [TSV]: [
    'TabSeparated',
    'TSV',
    'TabSeparatedRaw',
    'TSVRaw',
    'TabSeparatedWithNames',
    'TSVWithNames',
    'TabSeparatedWithNamesAndTypes',
    'TSVWithNamesAndTypes',
    'TabSeparatedRawWithNames',
    'TSVRawWithNames',
    'TabSeparatedRawWithNamesAndTypes',
    'TSVRawWithNamesAndTypes',
    'TSKV',
  ],
  'text/csv; charset=UTF-8; header=absent': ['CSV'],
  'text/csv; charset=UTF-8; header=present': ['CSVWithNames', 'CSVWithNamesAndTypes'],
  [TEXT]: [
    'Pretty',
    'PrettyCompact',
    'PrettyCompactMonoBlock',
    'PrettyCompactNoEscapes',
    'PrettyNoEscapes',
    'PrettySpace',
    'PrettySpaceNoEscapes',
    'Vertical',
    'Values',
    'Markdown',
    'LineAsString',
    'SQLInsert',
    'Null',
  ],
  'application/xml; charset=UTF-8': ['XML'],
  [BYTES]: [
    'Native',
    'RowBinary',
    'RowBinaryWithNames',
    'RowBinaryWithNamesAndTypes',
    'Parquet',
    'Arrow',
    'ArrowStream',
    'ORC',
    'MsgPack',
  ],
}

const BY_NAME = new Map(
  Object.entries(FORMATS).flatMap(([contentType, names]) =>
    names.map((name) => [name.toLowerCase(), { name, contentType }] as const),
  ),
)

/** @internal */
export const FORMATS_OF_ANALYSTS: readonly string[] = [...BY_NAME.values()].map(({ name }) => name)

/** @throws ClickHouseException when analysts may not ask for this format */
export function requireOutputFormat(name: string): string {
  const format = BY_NAME.get(name.toLowerCase())
  if (format !== undefined) return format.name
  throw new ClickHouseException('UNKNOWN_FORMAT', `The format ${name} is unknown, or not for analysts.`)
}

export const contentTypeOf = (format: string): string =>
  BY_NAME.get(format.toLowerCase())?.contentType ?? BYTES
