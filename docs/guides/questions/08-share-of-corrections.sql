-- Which share of a metric's events was corrected or voided, and by how much did that change the day's usage?
-- events has no voided ones, so this counts event_changes, and takes what was reported from event_revisions.
SELECT
    c.day AS day,
    c.events AS events,
    c.corrected AS corrected_events,
    c.voided AS voided_events,
    (c.corrected + c.voided) / c.events AS share,
    ifNull(r.change, toDecimal256(0, 18)) AS changed_by
FROM (
    SELECT
        toDate(occurred_at) AS day,
        count() AS events,
        countIf(corrected_at IS NOT NULL AND NOT is_void) AS corrected,
        countIf(is_void) AS voided
    FROM event_changes
    WHERE metric_id = {metric:String} AND occurred_at >= today() - 30 AND occurred_at < today()
    GROUP BY day
) AS c
LEFT ANY JOIN (
    SELECT day, sum(last - first) AS change
    FROM (
        SELECT
            toDate(any(occurred_at)) AS day,
            argMin(quantity, revision) AS first,
            argMax(if(is_void, toDecimal256(0, 18), quantity), revision) AS last
        FROM event_revisions
        WHERE metric_id = {metric:String} AND occurred_at >= today() - 30 AND occurred_at < today()
        GROUP BY event_id
    )
    GROUP BY day
) AS r ON r.day = c.day
ORDER BY day
