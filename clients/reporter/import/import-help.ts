/** What `npm run import -- --help` prints. */
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
  --file FILE             a file, from the folder you are in, or - for standard input
  --format csv|ndjson     guessed from the ending: .csv .tsv .ndjson .jsonl. UTF-8; lines end in LF or CR LF, and CR alone
                          ends none. Byte order marks at the start of a line are passed over
  --delimiter CHARACTER   between cells of CSV, or the word tab; a comma unless the file ends in .tsv. A first line such
                          as sep=; is no hint but a line of the CSV: take it out
  --no-header             the first line of the CSV is data; columns are numbers from 1

what it means
  --time COLUMN           when it happened. Events have whole seconds: fractions are cut
  --time-format FORMAT    auto (default), text, unix-s, unix-ms, unix-us or unix-ns. Text is ISO 8601, or
                          2026-01-31 23:59:59 with an optional fraction and zone; auto takes it and all Unix times.
                          A date alone is midnight, in UTC unless --utc-offset is given. 31/01/2026 and 01/31/2026 are
                          refused: day and month cannot be distinguished, and there is no option for them. Export
                          ISO dates
  --utc-offset +HH:MM     the zone of times that do not say; UTC unless given
  --quantity COLUMN=METRIC
                          a quantity, and the metric it is of, by name or id; or a currency: cost=currency:usd.
                          Each is an event of its own. An empty cell is no event
  --allow-exponents       take quantities such as 5e-06 from CSV. Not for files that went through a spreadsheet,
                          which rounds before it writes them. Numbers in NDJSON may always have one
  --account ACCOUNT       the account of all lines, by id, external id or name
  --account-column COLUMN the account of each line, by external id
  --property COLUMN[=NAME]
                          a property to keep with each event; empty ones are left out. Repeat it for more
  --create                make accounts and metrics that are missing; no account whose external id has characters in
                          it that cannot be seen, such as a zero width space
  --source NAME           distinguishes inputs that may have equal lines; see below

how
  --url URL               where Tally is, without /v2; else http://127.0.0.1:PORT where PORT is set, else where the
                          Tally of DATA_DIR serves, else http://127.0.0.1:8080
  --key-file FILE         a file that holds the API key; else TALLY_API_KEY, else DATA_DIR/api-key
  --batch-size N          events in a request, at most and by default 1000
  --in-flight N           requests at once, 4 unless given
  --retry-for SECONDS     for how long a request is tried again when Tally is busy or away, 300 unless given
  --strict                stop at the first bad line; lines before it are sent
  --dry-run               check every line and show what would be sent; it contacts no Tally, so it looks for no account

Each line counts once, however often you import it: its events carry keys made of its text and of how many equal lines
stand before it. So equal lines of one input all count; and the name of the file, the order of its lines, LF or CR LF at
their ends and a crash in the middle make no difference. Equal lines of two files for one account count once. That is
right where files overlap. Where they are different usage that only looks the same, as from two machines, give each file
a --source of its own, the same each time. What was imported once stays as it is: importing it
with other options does not change it, and with another time, account or metric makes more events. To take usage back,
void its events, or report the same quantity with a minus sign.

A bad line is named with its number and the reason on standard error, and the import goes on. Exit code: 0 all lines were
taken, 1 some were bad or Tally could not be reached, 2 the options make no sense, 130 interrupted by Ctrl-C.
Memory: some 20 to 45 bytes for each different line; see clients/reporter/import/line-ordinals.ts.`
