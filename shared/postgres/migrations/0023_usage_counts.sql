-- phase: expand
-- oldest: 0.1.0
-- How many events of a namespace occurred in a month, of those accepted before a time, as ClickHouse had them when they were
-- counted last. Such a number never gets less: an event keeps its id and so its month, its acceptance only ever gets earlier,
-- and what is voided stays. So it tells of events that ClickHouse has lost after the event log has dropped them, too. Rows go
-- with their namespace.
CREATE TABLE usage_counts (
  namespace_id uuid NOT NULL REFERENCES namespaces,
  month integer NOT NULL,               -- in UTC, as 202609
  events bigint NOT NULL CHECK (events >= 0),
  counted_before bigint NOT NULL,       -- microseconds since 1970: of their acceptance
  counted_at timestamptz NOT NULL,
  -- By how many it fell short when it was counted last. As long as it does, the other numbers stay.
  missing bigint NOT NULL CHECK (missing >= 0),
  PRIMARY KEY (namespace_id, month)
);

ALTER TABLE usage_counts ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_counts FORCE ROW LEVEL SECURITY;
CREATE POLICY of_namespace ON usage_counts
  USING (namespace_id = nullif(current_setting('tally.namespace_id', true), '')::uuid);
-- Who counts, and who proves, reads those of every company; a setting that no request makes.
CREATE POLICY of_maintenance ON usage_counts FOR SELECT
  USING (current_setting('tally.every_namespace', true) = 'on');
