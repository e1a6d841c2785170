-- Counts each mark as it is placed, and again as it is turned ready.
CREATE MATERIALIZED VIEW IF NOT EXISTS usage_dirty_slots_to_late_usage_counts TO late_usage_counts AS
SELECT namespace_id, account_id, count() AS marks FROM usage_dirty_slots WHERE sign = 1 GROUP BY namespace_id, account_id
