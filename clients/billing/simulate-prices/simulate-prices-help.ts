/** The text that `npm run simulate-prices -- --help` prints. */
export const SIMULATE_PRICES_HELP = `Shows what accounts would pay by a rate card, compared with what they pay. It changes nothing, and can be run any number
of times. For a past range the answer stays the same, until usage is reported late or corrected.

usage: npm run simulate-prices -- --card CARD [options]

examples:
  npm run simulate-prices -- --card standard-2026
  npm run simulate-prices -- --card standard --changes cheaper.json --from 2025-11-01 --to 2025-12-01
  npm run simulate-prices -- --card standard-2026 --against standard --all --json > accounts.json

what
  --card CARD             the rate card: its id, or its external_id
  --changes FILE          changes to the card that apply to this simulation only, as JSON in the form that
                          POST /v2/rate-cards/{rate_card_id}/changes takes, such as
                          {"end": ["rate_…"], "add": [{"metric_id": "metric_…", "price_id": "price_…"}]}
  --against WHAT          the side to compare with: contracts (what each account pays by its own contract), none, or a rate
                          card by its id or external_id; contracts unless given

when
  --from TIME             the first second of usage: 2026-01-31, 2026-01-31T12:00:00Z (UTC) or Unix seconds; the start of
                          last month unless given
  --to TIME               the second after the last one; unless given, now if --from is given, else the start of this month
  --cadence CADENCE       day, week, month, quarter, half_year or year: divides the time into periods that begin at --from.
                          Each of them counts as a whole period. Unless given, all of the time is one period

who
  --account ID            only this account, by its id; may be given up to 100 times
  --all                   lists every account; otherwise only accounts whose bills would change most

how
  --json                  prints one JSON document: {"currency", "usage_as_of", "totals", "data"}; data contains the accounts
                          of --account or --all, and is empty without these options

where
  --url URL               the address of Tally, without /v2; unless given, http://127.0.0.1:PORT if PORT is set, else the
                          address of the Tally of DATA_DIR, else http://127.0.0.1:8080
  --key-file FILE         a file with an API key that has the permission read:all; unless given, TALLY_API_KEY, else
                          DATA_DIR/api-key
  --retry-for SECONDS     how long a request is tried again when Tally is busy or cannot be reached, 300 unless given

It ends with 1 when Tally refuses, and with 2 when the options are not valid.`
