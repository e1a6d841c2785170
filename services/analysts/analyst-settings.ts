import type { ClickHouseSettings } from '@clickhouse/client'
import type { AnalystLimits } from './analyst-limits.ts'
import { ClickHouseException } from './exception.ts'
import { TABLE_FILTERS } from './judge/table-filters.ts'
import type { TimeZones } from './judge/time-zones.ts'

type Check = (value: string, limits: AnalystLimits, zones: TimeZones) => string | number

const refuse = (value: string, allowed: string): never => {
  throw new ClickHouseException(
    'BAD_ARGUMENTS',
    `the value ${JSON.stringify(value.slice(0, 100))} is not ${allowed}.`,
  )
}
const oneOf =
  (...allowed: readonly string[]): Check =>
  (value) =>
    allowed.includes(value) ? value : refuse(value, `one of ${allowed.join(', ')}`)
const flag: Check = (value) =>
  ['0', '1', 'true', 'false'].includes(value)
    ? Number(value === '1' || value === 'true')
    : refuse(value, '0 or 1')
const count: Check = (value) => (/^\d{1,15}$/.test(value) ? Number(value) : refuse(value, 'a whole number'))
const character: Check = (value) => (/^[\x20-\x7e\t]$/.test(value) ? value : refuse(value, 'one character'))

/** Takes the lower of the requested limit and our limit. For ClickHouse, 0 means "no limit"; then our limit applies. */
const atMost =
  (most: (limits: AnalystLimits) => number): Check =>
  (value, limits) => {
    if (!/^\d{1,15}(?:\.\d{1,6})?$/.test(value)) refuse(value, 'a number')
    return Number(value) === 0 ? most(limits) : Math.min(Number(value), most(limits))
  }

/** Settings that an analyst's client may send and that have an effect: how values are written, and lower limits. */
const APPLIED: Readonly<Record<string, Check>> = {
  max_execution_time: atMost(({ timeoutS }) => timeoutS),
  max_memory_usage: atMost(({ memoryBytes }) => memoryBytes),
  max_threads: atMost(({ threads }) => threads),
  max_result_rows: atMost(({ resultRows }) => resultRows),
  max_result_bytes: atMost(({ resultBytes }) => resultBytes),
  result_overflow_mode: oneOf('throw', 'break'),
  limit: count,
  offset: count,
  extremes: flag,
  join_use_nulls: flag,
  session_timezone: (value, _limits, zones) => zones.require(value),
  date_time_output_format: oneOf('simple', 'iso', 'unix_timestamp'),
  format_csv_delimiter: character,
  output_format_csv_crlf_end_of_line: flag,
  output_format_arrow_compression_method: oneOf('lz4_frame', 'zstd', 'none'),
  output_format_arrow_date_as_uint16: flag,
  output_format_arrow_fixed_string_as_fixed_byte_array: flag,
  output_format_arrow_string_as_string: flag,
  output_format_arrow_use_64_bit_indexes_for_dictionary: flag,
  output_format_arrow_use_signed_indexes_for_dictionary: flag,
  output_format_decimal_trailing_zeros: flag,
  output_format_json_array_of_rows: flag,
  output_format_json_escape_forward_slashes: flag,
  output_format_json_named_tuples_as_objects: flag,
  output_format_json_quote_64bit_floats: flag,
  output_format_json_quote_64bit_integers: flag,
  output_format_json_quote_decimals: flag,
  output_format_json_quote_denormals: flag,
  output_format_json_validate_utf8: flag,
  output_format_parquet_batch_size: count,
  output_format_parquet_compliant_nested_types: flag,
  output_format_parquet_compression_method: oneOf('snappy', 'lz4', 'brotli', 'zstd', 'gzip', 'none'),
  output_format_parquet_data_page_size: count,
  output_format_parquet_date_as_uint16: flag,
  output_format_parquet_datetime_as_uint32: flag,
  output_format_parquet_enum_as_byte_array: flag,
  output_format_parquet_fixed_string_as_fixed_byte_array: flag,
  output_format_parquet_max_dictionary_size: count,
  output_format_parquet_row_group_size: count,
  output_format_parquet_string_as_string: flag,
  output_format_parquet_version: oneOf('1.0', '2.4', '2.6', '2.latest'),
  output_format_parquet_write_page_index: flag,
  output_format_pretty_color: oneOf('0', '1', 'auto'),
  output_format_pretty_max_rows: count,
  output_format_pretty_row_numbers: flag,
  output_format_tsv_crlf_end_of_line: flag,
}

/** Settings that many clients send. They are accepted, and have no effect here. */
const IGNORED = new Set([
  'add_http_cors_header',
  'allow_experimental_analyzer',
  'allow_experimental_object_type',
  'alter_sync',
  'buffer_size',
  'cancel_http_readonly_queries_on_client_close',
  'connect_timeout',
  'enable_analyzer',
  'http_headers_progress_interval_ms',
  'http_make_head_request',
  'http_max_tries',
  'http_receive_timeout',
  'http_response_buffer_size',
  'http_send_timeout',
  'http_write_exception_in_output_format',
  'http_zlib_compression_level',
  'insert_distributed_sync',
  'insert_quorum',
  'lightweight_deletes_sync',
  'log_comment',
  'log_queries',
  'max_block_size',
  // Why it has no effect: it counts rows of the tables. A query that it ends would show how much usage other companies
  // have.
  'max_rows_to_read',
  'mutations_sync',
  'network_compression_method',
  'network_zstd_compression_level',
  // Why it has no effect: the dictionary of a block also has values of rows that the view left out, such as those of
  // other companies.
  'output_format_arrow_low_cardinality_as_dictionary',
  // Why it has no effect: the statistics count rows of the tables, with those of other companies.
  'output_format_write_statistics',
  'priority',
  'readonly',
  'receive_timeout',
  'select_sequential_consistency',
  'send_progress_in_http_headers',
  'send_timeout',
  'use_client_time_zone',
  'use_query_cache',
  'wait_end_of_query',
])

/** The settings that a query may have, by name. */
export const SETTINGS_OF_ANALYSTS: readonly string[] = [
  ...Object.keys(APPLIED),
  ...IGNORED,
  TABLE_FILTERS,
].sort()

/**
 * The settings that an analyst's client asked for, after all checks. Filters of tables are left out: these are judged
 * (judge/table-filters.ts).
 *
 * @throws ClickHouseException naming the first setting that analysts may not set, or may not set to that value
 */
export function analystSettings(
  requested: ReadonlyMap<string, string>,
  limits: AnalystLimits,
  zones: TimeZones,
): ClickHouseSettings {
  const settings: Record<string, string | number> = {}
  for (const [name, value] of requested) {
    if (IGNORED.has(name) || name === TABLE_FILTERS) continue
    const check = Object.hasOwn(APPLIED, name) ? APPLIED[name] : undefined
    if (check === undefined)
      throw new ClickHouseException('ACCESS_DENIED', `the setting ${name} cannot be changed by analysts.`)
    try {
      settings[name] = check(value, limits, zones)
    } catch (err) {
      if (!(err instanceof ClickHouseException)) throw err
      throw new ClickHouseException([err.code, err.type], `setting ${name}: ${err.message}`)
    }
  }
  return settings
}
