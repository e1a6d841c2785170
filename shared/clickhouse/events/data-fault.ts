import { ClickHouseError } from '@clickhouse/client'

/**
 * ClickHouse's codes for errors in the data: ClickHouse would refuse the same data again. Every other error counts as
 * temporary, including 252 (too many parts). If a temporary error counted as bad data, good usage would go to the dead
 * letters.
 *
 * @see https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp
 */
const DATA_ERRORS = new Set([
  '6', // CANNOT_PARSE_TEXT
  '25', // CANNOT_PARSE_ESCAPE_SEQUENCE
  '26', // CANNOT_PARSE_QUOTED_STRING
  '27', // CANNOT_PARSE_INPUT_ASSERTION_FAILED
  '33', // CANNOT_READ_ALL_DATA
  '38', // CANNOT_PARSE_DATE
  '41', // CANNOT_PARSE_DATETIME
  '53', // TYPE_MISMATCH
  '69', // ARGUMENT_OUT_OF_BOUND
  '70', // CANNOT_CONVERT_TYPE
  '72', // CANNOT_PARSE_NUMBER
  '117', // INCORRECT_DATA
  '130', // CANNOT_READ_ARRAY_FROM_TEXT
  '131', // TOO_LARGE_STRING_SIZE
  '349', // CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN
  '407', // DECIMAL_OVERFLOW
])

/** The reason why ClickHouse refuses data. */
export interface DataFault {
  code: string
  /** The code's name. */
  type: string
  /** ClickHouse's message. It quotes part of a row, so it must not be logged. */
  reason: string
}

/** The fault that ClickHouse found in the data of an insert; undefined for any other error. */
export function findDataFault(err: unknown): DataFault | undefined {
  if (!(err instanceof ClickHouseError) || !DATA_ERRORS.has(err.code)) return undefined
  const { code, type = '', message } = err
  return { code, type, reason: `ClickHouse: ${message.split('\n')[0] ?? ''}` }
}
