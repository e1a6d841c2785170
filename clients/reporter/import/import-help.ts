/** The text that `npm run import -- --help` prints. */
export const IMPORT_HELP = `Reports a file as usage, over HTTP. Running it again changes nothing: each line counts once.

usage: npm run import -- --file FILE --time COLUMN --quantity COLUMN=METRIC [--quantity …]
         (--account ACCOUNT | --account-column COLUMN) [options]

examples:
  npm run import -- --file requests.csv --time TIMESTAMP --account acme --create \\
    --quantity ContextTokens=context_tokens --quantity GeneratedTokens=generated_tokens
  npm run import -- --file usage.ndjson --time at --time-format unix-ms --account-column customer \\
    --quantity cost=currency:usd --property model --property region
  zcat log.csv.gz | npm run import -- --file - --format csv --no-header --time 1 --quantity 3=requests --account acme

what to read
  --file FILE             a file, relative to the folder you are in, or - for standard input
  --format csv|ndjson     the format; unless given, the ending decides: .csv .tsv .ndjson .jsonl. The text must be UTF-8.
                          Lines end in LF or CR LF; CR alone does not end a line. Byte order marks at the start of a line
                          are ignored
  --delimiter CHARACTER   the character between cells of CSV, or the word tab; a comma unless the file ends in .tsv. Remove a
                          first line such as sep=; because it would be read as a line of the CSV
  --no-header             the first line of the CSV is data; columns are numbers from 1

what it means
  --time COLUMN           the time when the event happened. Events have whole seconds, so fractions are cut off
  --time-format FORMAT    auto (default), text, unix-s, unix-ms, unix-us or unix-ns. Text is ISO 8601, or
                          2026-01-31 23:59:59 with an optional fraction and zone; auto takes text and all Unix times.
                          A date without a time is midnight, in UTC unless --utc-offset is given. 31/01/2026 and 01/31/2026
                          are refused, because day and month cannot be distinguished. Export ISO dates instead
  --utc-offset +HH:MM     the zone of times without a zone; UTC unless given
  --quantity COLUMN=METRIC
                          a quantity, and its metric by id, external id or name, or its currency: cost=currency:usd.
                          Each quantity is an event of its own. An empty cell is no event
  --allow-exponents       take quantities such as 5e-06 from CSV. Do not use it for files from a spreadsheet, because
                          spreadsheets round before they write them. Numbers in NDJSON may always have an exponent
  --account ACCOUNT       the account of all lines, by id, external id or name
  --account-column COLUMN the account of each line, by external id
  --property COLUMN[=NAME]
                          a property to store with each event; empty properties are left out. May be given several times
  --create                make missing accounts and metrics. An account is not made if its external id has invisible
                          characters, such as a zero width space
  --source NAME           distinguishes inputs that may have equal lines; see below

how
  --url URL               the address of Tally, without /v2; unless given, http://127.0.0.1:PORT if PORT is set, else the
                          address of the Tally of DATA_DIR, else http://127.0.0.1:8080
  --key-file FILE         a file with the API key; unless given, TALLY_API_KEY, else DATA_DIR/api-key
  --batch-size N          events in a request, at most and by default 1000
  --in-flight N           requests at once, 4 unless given
  --retry-for SECONDS     how long a request is tried again when Tally is busy or cannot be reached, 300 unless given
  --strict                stop at the first bad line; lines before it are sent
  --dry-run               check every line and show what would be sent. It does not contact Tally, so it does not check
                          whether accounts exist

Each line counts once, however often you import it. The keys of its events are made from its text and from the number of
equal lines before it. Therefore equal lines of one input all count. The name of the file, the order of its lines, LF or
CR LF at their ends and a crash in the middle make no difference. Equal lines of two files for one account count once. That
is right if the files overlap. If they are different usage that only looks equal, such as from two machines, give each file
its own --source, and the same one each time. What was imported once does not change. Importing it again with other options
does not change it. Importing it again with another time, account or metric makes more events. To cancel usage, void its
events, or report the same quantity with a minus sign.

A bad line is reported on standard error, with its number and the reason, and the import continues. Exit code: 0 all lines
were taken, 1 some were bad or Tally could not be reached, 2 the options are not valid, 130 interrupted by Ctrl-C.
Memory: some 20 to 45 bytes for each different line; see clients/reporter/import/line-ordinals.ts.`
