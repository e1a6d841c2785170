-- phase: expand
-- oldest: 0.1.0
-- Copies each row of the last days over as it is stored. It sees stored rows, not FINAL ones: the version tells there too.
CREATE MATERIALIZED VIEW IF NOT EXISTS usage_by_slot_to_time TO usage_by_slot_by_time AS
SELECT epoch, slot, namespace_id, account_id, source, count, sum, min, max, latest, latest_accepted_at, latest_id, version
FROM usage_by_slot WHERE slot >= toStartOfDay(now('UTC')) - INTERVAL 3 DAY
