-- phase: expand
-- oldest: 0.1.0
-- Notes the accounts and metrics of the corrections in each inserted block; most blocks hold none, and nothing is written.
CREATE MATERIALIZED VIEW IF NOT EXISTS usage_events_to_corrected_usage TO corrected_usage AS
SELECT now64(6, 'UTC') AS stored_at, namespace_id, account_id, source
FROM usage_events
WHERE corrected_at IS NOT NULL
GROUP BY namespace_id, account_id, source
