-- phase: expand
-- oldest: 0.1.0
-- Copies each inserted row over. It sees inserted rows, not FINAL ones, which is harmless here: equal rows collapse.
CREATE MATERIALIZED VIEW IF NOT EXISTS usage_events_to_acceptance TO usage_events_by_acceptance AS
SELECT namespace_id, toDateTime(accepted_at, 'UTC') AS accepted_second, id, account_id, source
FROM usage_events
