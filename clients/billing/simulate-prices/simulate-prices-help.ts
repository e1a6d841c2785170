/** What `npm run simulate-prices -- --help` prints. */
export const SIMULATE_PRICES_HELP = `Shows what accounts would pay by a rate card, compared with what they pay. It changes nothing, and may be run any number
of times. For a past range the answer stays the same, until usage is reported late or corrected.

usage: npm run simulate-prices -- --card CARD [options]

examples:
  npm run simulate-prices -- --card standard-2026
  npm run simulate-prices -- --card standard --changes cheaper.json --from 2025-11-01 --to 2025-12-01
  npm run simulate-prices -- --card standard-2026 --against standard --all --json > accounts.json

what
  --card CARD             the rate card: its id, or its external_id
  --changes FILE          as if the card were changed so: JSON as POST /v2/rate-cards/{rate_card_id}/changes takes it, such
                          as {"end": ["rate_…"], "add": [{"metric_id": "metric_…", "price_id": "price_…"}]}
  --against WHAT          contracts, unless given: what each account pays by its own contract; none; or a rate card, by its id
                          or its external_id

when
  --from TIME             the first second of usage: 2026-01-31, 2026-01-31T12:00:00Z (UTC) or Unix seconds; the first of
                          last month unless given
  --to TIME               the second after the last; the first of this month unless given, and now with --from alone
  --cadence CADENCE       day, week, month, quarter, half_year or year: periods, from --from on, each counted as a whole
                          one. Unless given all of the time is one period

whom
  --account ID            this account alone, by its id; may be given up to 100 times
  --all                   lists every account; otherwise those whose bills would change most

how
  --json                  prints one JSON document: {"currency", "usage_as_of", "totals", "data"}; data has the accounts of
                          --account or --all, and is empty without

where
  --url URL               where Tally is, without /v2; else http://127.0.0.1:PORT where PORT is set, else where the
                          Tally of DATA_DIR serves, else http://127.0.0.1:8080
  --key-file FILE         a file that holds an API key with the permission read:all; else TALLY_API_KEY, else DATA_DIR/api-key
  --retry-for SECONDS     for how long a request is tried again when Tally is busy or away, 300 unless given

It ends with 1 when Tally refuses, and with 2 when the options make no sense.`
