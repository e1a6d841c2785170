/** How a format of files is asked for. */
interface FormatOfFiles {
  /** ClickHouse's name of it. */
  name: string
  settings: Readonly<Record<string, string>>
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
  },
  arrow: {
    name: 'Arrow',
    settings: { output_format_arrow_string_as_string: '1', output_format_arrow_date_as_uint16: '0' },
  },
  csv: { name: 'CSVWithNames', settings: ISO_TIMES },
  tsv: { name: 'TabSeparatedWithNames', settings: ISO_TIMES },
  ndjson: { name: 'JSONEachRow', settings: { ...ISO_TIMES, output_format_json_quote_decimals: '1' } },
} as const satisfies Record<string, FormatOfFiles>

export type FileFormat = keyof typeof FILE_FORMATS
