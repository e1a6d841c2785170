/** The text that `npm run export -- --help` prints. */
export const EXPORT_HELP = `Writes a view of the analysts into files, over HTTP, with the rights of an analyst. It only reads.

usage: npm run export -- --view NAME --format FORMAT --dir FOLDER [options]

examples:
  npm run export -- --view event_changes --format parquet --dir monday
  npm run export -- --view event_changes --format parquet --dir tuesday --since 2026-11-27T00:00:04.123456Z
  npm run export -- --view accounts --format csv --dir accounts --user ada --password-file ada.txt

what to write
  --view NAME            a view of docs/reference/views.md. event_changes is the one for copies of all usage: it alone has
                         --since
  --format FORMAT        parquet, arrow (a file), csv, tsv or ndjson. Decimals are DECIMAL(38, 18), or plain text; times are in
                         UTC, to the microsecond
  --dir FOLDER           a folder for this export alone, relative to the folder you are in. A file appears there when it is
                         whole. manifest.json lists the files. The same command again goes on where a run stopped. Only
                         one run at a time may write to a folder
  --since TIME           only events that were changed at this time or later: next_since in the manifest of the export before

how
  --url URL              the analysts' endpoint, http://127.0.0.1:CLICKHOUSE_HTTP_PORT unless given, 8123 if that is not set
  --database NAME        the database of the views; unless given, the one that the user has by default
  --user NAME            the analyst; CLICKHOUSE_USER unless given, else analyst, who sees all companies
  --password-file FILE   a file with the password; unless given, CLICKHOUSE_PASSWORD, else DATA_DIR/analyst-password

docs/guides/export.md shows how to merge exports, and how to read them with DuckDB and polars.

Exit code: 0 the export is complete, 1 it is not, 2 the options are not valid, 130 interrupted by Ctrl-C.`
