-- phase: expand
-- oldest: 0.1.0
-- What each gateway has accepted and may not have appended yet: the list of events ends before the lowest of these.
-- See docs/decisions/0007-gateways-publish-their-lowest-acceptance.md and 0030-time-never-goes-back.md.
CREATE TABLE gateways (
  gateway_id uuid PRIMARY KEY,
  -- Microseconds since 1970: no event that this gateway appends from now on was or will be accepted before. It only rises.
  lowest_accepted_at bigint NOT NULL,
  -- Every event that it has accepted when it renewed this row was accepted by then, and nobody was told a later time.
  reached_at bigint NOT NULL,
  renewed_at timestamptz NOT NULL,
  -- After this by this database's clock the gateway appends nothing any more under this row, and it counts no longer.
  counts_until timestamptz NOT NULL
) WITH (fillfactor = 20); -- renewed several times a second, within its page

-- How far the acceptances of gateways have come whose rows are gone. One row, whose number only rises.
CREATE TABLE reached_acceptance (
  is_one boolean PRIMARY KEY DEFAULT true CHECK (is_one),
  reached_at bigint NOT NULL
);
INSERT INTO reached_acceptance (reached_at) VALUES (0);

-- How far acceptances have come, of all gateways there are and were: none that begins may accept anything before that.
CREATE FUNCTION reached_acceptance() RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT greatest((SELECT reached_at FROM tally.reached_acceptance), (SELECT max(reached_at) FROM tally.gateways))
$$;
