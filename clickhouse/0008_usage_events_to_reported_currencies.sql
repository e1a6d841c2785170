-- phase: expand
-- oldest: 0.1.0
-- Notes the currencies of each inserted block. It sees repeated reports and corrections too, which cannot make either time
-- wrong: a correction carries the time of its report.
CREATE MATERIALIZED VIEW IF NOT EXISTS usage_events_to_reported_currencies TO reported_currencies AS
SELECT
    namespace_id,
    source AS currency,
    min(toDateTime(accepted_at, 'UTC')) AS first_reported_at,
    max(toDateTime(accepted_at, 'UTC')) AS last_reported_at
FROM usage_events
WHERE NOT startsWith(source, 'metric_')
GROUP BY namespace_id, source
