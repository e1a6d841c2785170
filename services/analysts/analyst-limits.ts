import type { ClickHouseSettings } from '@clickhouse/client'
import { FINAL_SETTINGS } from '../../shared/clickhouse/clickhouse.ts'
import { settingsOfPriority } from '../../shared/clickhouse/query-turns.ts'

/** The limits of one query of an analyst. */
export interface AnalystLimits {
  /** Seconds. */
  timeoutS: number
  memoryBytes: number
  threads: number
  resultRows: number
  resultBytes: number
  readRows: number
  /** Space on disk for sorting and grouping what does not fit into memory. */
  temporaryBytes: number
}

/** The limits as settings. Every query sets all of them, so defaults and settings of earlier queries have no effect. */
export const limitSettings = (limits: AnalystLimits): ClickHouseSettings => ({
  ...FINAL_SETTINGS,
  ...settingsOfPriority(3),
  apply_prewhere_after_final: 1,
  apply_row_policy_after_final: 1,
  allow_ddl: 0,
  allow_introspection_functions: 0,
  implicit_select: 0,
  // Otherwise some properties are not found in data parts that are not indexed yet (docs/decisions/0013).
  query_plan_direct_read_from_text_index: 0,
  // Otherwise the engine could compute an analyst's function for rows that an earlier condition leaves out, and an
  // error of the function would show values of these rows.
  short_circuit_function_evaluation: 'enable',
  // The statistics count rows of the tables, so they would show how much usage other companies have.
  output_format_write_statistics: 0,
  // A dictionary would also show values of rows that a view leaves out.
  output_format_arrow_low_cardinality_as_dictionary: 0,
  // Some columns hold raw bytes (property_tokens), which would make the JSON invalid.
  output_format_json_validate_utf8: 1,
  // JavaScript and others read a bare number as a double, which has 16 digits.
  output_format_json_quote_decimals: 1,
  timeout_overflow_mode: 'throw',
  result_overflow_mode: 'throw',
  read_overflow_mode: 'throw',
  max_execution_time: limits.timeoutS,
  max_memory_usage: String(limits.memoryBytes),
  max_threads: limits.threads,
  max_result_rows: String(limits.resultRows),
  max_result_bytes: String(limits.resultBytes),
  max_rows_to_read: String(limits.readRows),
  max_temporary_data_on_disk_size_for_query: String(limits.temporaryBytes),
  // A short query can expand to a very large one before it runs, and the time limit is only checked while it runs.
  max_ast_depth: '300',
  max_ast_elements: '20000',
  max_expanded_ast_elements: '50000',
  max_parser_backtracks: '300000',
  function_range_max_elements_in_block: '20000000',
})
