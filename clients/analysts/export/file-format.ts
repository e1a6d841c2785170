import { arrowRows } from './rows/arrow-rows.ts'
import type { CountRows } from './rows/count-rows.ts'
import { parquetRows } from './rows/parquet-rows.ts'
import { textRows } from './rows/text-rows.ts'

/** How a format of files is asked for, and read. */
interface FormatOfFiles {
  /** ClickHouse's name of it. */
  name: string
  settings: Readonly<Record<string, string>>
  countRows: CountRows
}

const ISO_TIMES = { date_time_output_format: 'iso' }

/** The formats of files, by the name in the command, which is also the ending of the files. */
export const FILE_FORMATS = {
  parquet: {
    name: 'Parquet',
    settings: {
      output_format_parquet_compression_method: 'zstd',
      output_format_parquet_string_as_string: '1',
      output_format_parquet_date_as_uint16: '0',
    },
    countRows: parquetRows,
  },
  arrow: {
    name: 'Arrow',
    settings: { output_format_arrow_string_as_string: '1', output_format_arrow_date_as_uint16: '0' },
    countRows: arrowRows,
  },
  csv: {
    name: 'CSVWithNames',
    settings: ISO_TIMES,
    countRows: textRows({ hasHeader: true, hasQuotes: true }),
  },
  tsv: {
    name: 'TabSeparatedWithNames',
    settings: ISO_TIMES,
    countRows: textRows({ hasHeader: true, hasQuotes: false }),
  },
  ndjson: {
    name: 'JSONEachRow',
    settings: { ...ISO_TIMES, output_format_json_quote_decimals: '1' },
    countRows: textRows({ hasHeader: false, hasQuotes: false }),
  },
} as const satisfies Record<string, FormatOfFiles>

export type FileFormat = keyof typeof FILE_FORMATS
