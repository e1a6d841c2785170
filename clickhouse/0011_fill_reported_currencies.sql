-- What was stored before there was a view to note it. Repeating this changes nothing.
INSERT INTO reported_currencies
SELECT
    namespace_id,
    source,
    min(toDateTime(accepted_at, 'UTC')),
    max(toDateTime(accepted_at, 'UTC'))
FROM usage_events
WHERE NOT startsWith(source, 'metric_')
GROUP BY namespace_id, source
