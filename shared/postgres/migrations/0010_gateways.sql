-- What each gateway has accepted and may not have appended yet: the list of events ends before the lowest of these.
-- See docs/decisions/0007-gateways-publish-their-lowest-acceptance.md.
CREATE TABLE gateways (
  gateway_id uuid PRIMARY KEY,
  -- Microseconds since 1970: no event that this gateway appends from now on was or will be accepted before. It only rises.
  lowest_accepted_at bigint NOT NULL,
  renewed_at timestamptz NOT NULL,
  -- After this by this database's clock the gateway appends nothing any more under this row, and it counts no longer.
  counts_until timestamptz NOT NULL
) WITH (fillfactor = 20); -- renewed several times a second, within its page
