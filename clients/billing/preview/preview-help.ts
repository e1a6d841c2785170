/** The text that `npm run preview -- --help` prints. */
export const PREVIEW_HELP = `Writes the preview of one period of every contract into a file, over HTTP. It only reads: no invoice is issued. Another run
writes the file again.

usage: npm run preview -- --out FILE [options]

examples:
  npm run preview -- --at 2026-10-31 --out october.csv
  npm run preview -- --at "2026-10-31 23:59:59" --as-of 2026-11-01 --out october.ndjson --key-file close.key

what to write
  --out FILE              a file, relative to the folder you are in, or - for standard output. The file appears when it is
                          complete. An interrupted run leaves the previous file unchanged
  --format csv|ndjson     the format; unless given, the ending decides: .csv .ndjson .jsonl. NDJSON contains each preview as
                          GET /v2/invoice-previews returns it. CSV contains its main fields

which period
  --at TIME               the period of each contract that contains this second; 2026-10-31 is the first second of that day,
                          in UTC. Unless given, it is the time of --as-of. Contracts that are not in force at this second
                          are left out
  --as-of TIME            only usage that occurred before this time counts; now unless given

how
  --url URL               the address of Tally, without /v2; unless given, http://127.0.0.1:PORT if PORT is set, else the
                          address of the Tally of DATA_DIR, else http://127.0.0.1:8080
  --key-file FILE         a file with an API key that may read; unless given, TALLY_API_KEY, else DATA_DIR/api-key
  --retry-for SECONDS     how long a request is tried again when Tally is busy or cannot be reached, 300 unless given

Exit code: 0 all contracts are in the file, 1 Tally could not be reached or refused, 2 the options are not valid,
130 interrupted by Ctrl-C.`
