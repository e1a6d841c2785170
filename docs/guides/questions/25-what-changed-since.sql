-- Which usage is new, corrected or voided since a time, such as yesterday's load, and by how much did each metric change?
-- Corrections keep accepted_at, so this goes by changed_at. Before that time an event counted as its revision of then.
SELECT
    c.metric_id AS metric_id,
    c.currency AS currency,
    multiIf(c.accepted_at >= {since:DateTime64(6, 'UTC')}, 'new', c.is_void, 'voided', 'corrected') AS change,
    count() AS events,
    sum(if(c.is_void, toDecimal256(0, 18), c.quantity) - ifNull(r.before, toDecimal256(0, 18))) AS changed_by
FROM (
    SELECT event_id, metric_id, currency, accepted_at, is_void, quantity
    FROM event_changes
    WHERE changed_at >= {since:DateTime64(6, 'UTC')}
) AS c
LEFT ANY JOIN (
    SELECT event_id, argMax(if(is_void, toDecimal256(0, 18), quantity), revision) AS before
    FROM event_revisions
    WHERE coalesce(corrected_at, accepted_at) < {since:DateTime64(6, 'UTC')}
    GROUP BY event_id
) AS r ON r.event_id = c.event_id
GROUP BY metric_id, currency, change
ORDER BY metric_id, currency, change
