-- phase: expand
-- oldest: 0.1.0
-- How far the clock of a test company's namespace runs ahead of real time. A namespace without a row, such as each one of a
-- live company, lives in real time. Times that say when Tally did something (accepted, corrected, created) stay real.
CREATE TABLE namespace_clocks (
  namespace_id uuid PRIMARY KEY REFERENCES namespaces,
  -- At most ten years, so that every time it shows fits the 32 bits that an event's id and ClickHouse keep it in.
  ahead_ms bigint NOT NULL CHECK (ahead_ms BETWEEN 0 AND 315619200000),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

ALTER TABLE namespace_clocks ENABLE ROW LEVEL SECURITY;
ALTER TABLE namespace_clocks FORCE ROW LEVEL SECURITY;
CREATE POLICY of_namespace ON namespace_clocks
  USING (namespace_id = nullif(current_setting('tally.namespace_id', true), '')::uuid);

-- How far a namespace's clock is ahead, in one round trip, in any transaction or none: a transaction in another namespace
-- stays there. (A function's own SET would put the setting back too, but only a superuser may give it one of our names.)
CREATE FUNCTION namespace_ahead_ms(of_namespace uuid) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  was_in text := coalesce(current_setting('tally.namespace_id', true), '');
  ahead bigint;
BEGIN
  PERFORM set_config('tally.namespace_id', of_namespace::text, true);
  SELECT c.ahead_ms INTO ahead FROM namespace_clocks c WHERE c.namespace_id = of_namespace;
  PERFORM set_config('tally.namespace_id', was_in, true);
  RETURN coalesce(ahead, 0);
END $$;

-- The namespace a company's rows are in now, and how far its clock is ahead.
CREATE FUNCTION current_world(of_company uuid, OUT namespace_id uuid, OUT ahead_ms bigint)
LANGUAGE plpgsql AS $$
BEGIN
  SELECT n.namespace_id INTO STRICT namespace_id FROM namespaces n
    WHERE n.company_id = of_company AND n.retired_at IS NULL;
  ahead_ms := namespace_ahead_ms(namespace_id);
END $$;

-- The same, and neither changes until the session lets go of the lock. Two statements, so that the second sees what whoever
-- held the lock alone has committed.
CREATE FUNCTION enter_world(of_company uuid, OUT namespace_id uuid, OUT ahead_ms bigint)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_lock_shared(hashtext('tally.world'), hashtext(of_company::text));
  SELECT w.namespace_id, w.ahead_ms INTO STRICT namespace_id, ahead_ms FROM current_world(of_company) w;
END $$;
