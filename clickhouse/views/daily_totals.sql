-- As daily_usage, from the totals of all accounts. A total lacks usage when its day is marked for any account, so the marks are
-- the same.
WITH
    (
        {part complete_days}
    ) AS complete,
    complete.3 AS marked
SELECT
    namespace_id, -- all companies
    day,
    if(startsWith(source, 'metric_'), source, NULL) AS metric_id,
    if(startsWith(source, 'metric_'), NULL, source) AS currency,
    quantity,
    events,
    toDecimal128(quantity, 18) AS quantity_38
FROM (
    SELECT namespace_id, day, source, sum AS quantity, count AS events
    FROM {database}.usage_by_day_total FINAL
    WHERE {part closed_days}
    UNION ALL
    SELECT
        namespace_id,
        toDate(occurred_at) AS day,
        source,
        sum(toDecimal256(e.quantity, 18)) AS quantity,
        count() AS events
    {part other_days}
    GROUP BY namespace_id, day, source
)
