/** The text that `npm run simulate -- --help` prints. */
export const SIMULATE_HELP = `Reports made-up but lifelike usage: requests of accounts to a language model. Each request has tokens in and out, compute
seconds and a cost in usd. Its properties are the model, the region and a request id.

usage: npm run simulate -- [options]

examples:
  npm run simulate -- --rate 5000 --seconds 60
  npm run simulate -- --rate max --batch-size 1000 --events 1000000 --verify
  npm run simulate -- --run nightly --start-at 1767225600 --events 100000 --verify

how much
  --rate N|max            events per second, 1000 unless given. Events are sent when they are due, even while earlier events
                          are not answered yet, with up to one request at once on each connection
  --seconds N             how long to send, 30 unless --events is given
  --events N              how many events
  --batch-size N          events in a request, at most 1000; 100 unless given, and fewer below 1000 events per second
  --connections N         requests at once, 4 unless given

what
  --accounts N            how many accounts, 100 unless given
  --skew N                how unequally accounts use Tally: Zipf's exponent, 1 unless given; with 0 all are equal
  --late PERCENT          the share of requests that are reported late, 1 unless given
  --late-hours N          the largest delay of late requests, 48 unless given
  --duplicates PERCENT    the share of events that are reported twice, 1 unless given
  --seed TEXT             another seed gives other usage; 1 unless given
  --start-at TIME         when the first event happens, instead of now: Unix seconds, or 2026-01-31T12:00:00Z (UTC)
  --run NAME              with --start-at: a run with accounts of its own. If you repeat it with the same options, it sends
                          the same events, and nothing changes. Without this option every run is new, and all runs share
                          their accounts

how well
  --probe-every MS        milliseconds between probes, 1000 unless given, 0 for none. A probe is an event that is accepted
                          and then looked for in a balance
  --verify                at the end, compare the sent events with the usage that Tally returns, to the last digit. The exit
                          code is 1 when anything differs. Nobody else may report to these accounts at that time
  --verify-seconds N      how long accepted events may still be missing there, 30 unless given

where
  --url URL               the address of Tally, without /v2; unless given, http://127.0.0.1:PORT if PORT is set, else the
                          address of the Tally of DATA_DIR, else http://127.0.0.1:8080
  --key-file FILE         a file with the API key; unless given, TALLY_API_KEY, else DATA_DIR/test-api-key, so that made-up
                          usage belongs to the test company
  --retry-for SECONDS     how long a request is tried again when Tally is busy or cannot be reached, 300 unless given

Accounts (simulated-1, simulated-2, …) and metrics (simulated_…) are made when they are missing.`
