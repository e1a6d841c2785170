/** What `npm run preview -- --help` prints. */
export const PREVIEW_HELP = `Writes the preview of one period of every contract into a file, over HTTP. It only reads: nothing is issued, and
another run writes the file again.

usage: npm run preview -- --out FILE [options]

examples:
  npm run preview -- --at 2026-10-31 --out october.csv
  npm run preview -- --at "2026-10-31 23:59:59" --as-of 2026-11-01 --out october.ndjson --key-file close.key

what to write
  --out FILE              a file, from the folder you are in, or - for standard output. It is there once all is in it:
                          a run that is interrupted leaves what was there before
  --format csv|ndjson     guessed from the ending: .csv .ndjson .jsonl. NDJSON holds each preview as GET /v2/invoice-previews
                          answers it, CSV its figures

which period
  --at TIME               of each contract the period that this second lies in: 2026-10-31 is that day's first second, in
                          UTC; what --as-of is unless given. Contracts that are not in force then are left out
  --as-of TIME            usage that occurred before counts; now unless given

how
  --url URL               where Tally is, without /v2; else http://127.0.0.1:PORT where PORT is set, else where the
                          Tally of DATA_DIR serves, else http://127.0.0.1:8080
  --key-file FILE         a file that holds the API key, which may read; else TALLY_API_KEY, else DATA_DIR/api-key
  --retry-for SECONDS     for how long a request is tried again when Tally is busy or away, 300 unless given

Exit code: 0 all contracts are in the file, 1 Tally could not be reached or refused, 2 the options make no sense,
130 interrupted by Ctrl-C.`
