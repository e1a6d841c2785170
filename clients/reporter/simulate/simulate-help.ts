/** What `npm run simulate -- --help` prints. */
export const SIMULATE_HELP = `Reports made-up but lifelike usage: requests of accounts to a language model, each with tokens in and out, compute
seconds and a cost in usd, and with its model, region and a request id as properties.

usage: npm run simulate -- [options]

examples:
  npm run simulate -- --rate 5000 --seconds 60
  npm run simulate -- --rate max --batch-size 1000 --events 1000000 --verify
  npm run simulate -- --run nightly --start-at 1767225600 --events 100000 --verify

how much
  --rate N|max            events a second, 1000 unless given; they are sent when they are due, even while earlier ones
                          are not answered, up to one request at once for each connection
  --seconds N             for how long, 30 unless --events is given
  --events N              how many events
  --batch-size N          events in a request, at most 1000; 100 unless given, and fewer below 1000 events a second
  --connections N         requests at once, 4 unless given

what
  --accounts N            how many accounts, 100 unless given
  --skew N                how unequal they are: Zipf's exponent, 1 unless given; 0 is all alike
  --late PERCENT          requests that are reported late, 1 unless given, by up to
  --late-hours N          so many hours, 48 unless given
  --duplicates PERCENT    events that are reported twice, 1 unless given
  --seed TEXT             another seed gives other usage; 1 unless given
  --start-at TIME         when the first event happens, instead of now: Unix seconds, or 2026-01-31T12:00:00Z (UTC)
  --run NAME              with --start-at: a run with accounts of its own; the same run again, with the same options,
                          is the same events, and changes nothing. Otherwise every run is new, and shares its accounts

how well
  --probe-every MS        milliseconds between probes: events that are looked for in a balance as soon as they are
                          accepted; 1000 unless given, 0 for none
  --verify                at the end, compare what was sent with the usage that Tally answers, to the last digit; exit
                          code 1 when anything differs. Nobody else may report to these accounts at that time
  --verify-seconds N      for how long what was accepted may still be missing there, 30 unless given

where
  --url URL               where Tally is, without /v2; else http://127.0.0.1:PORT where PORT is set, else where the
                          Tally of DATA_DIR serves, else http://127.0.0.1:8080
  --key-file FILE         a file that holds the API key; else TALLY_API_KEY, else DATA_DIR/test-api-key: made-up usage
                          belongs to the test company unless you say otherwise
  --retry-for SECONDS     for how long a request is tried again when Tally is busy or away, 300 unless given

Accounts (simulated-1, simulated-2, …) and metrics (simulated_…) are made when they are missing.`
