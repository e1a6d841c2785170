-- Of days that are closed and unmarked from their rollups, of the others from the events, as the API reads it. No join:
-- analysts may set how those are done.
WITH
    (
        {part complete_days}
    ) AS complete,
    complete.3 AS marked
SELECT
    namespace_id, -- all companies
    day,
    account_id,
    if(startsWith(source, 'metric_'), source, NULL) AS metric_id,
    if(startsWith(source, 'metric_'), NULL, source) AS currency,
    quantity,
    events,
    toDecimal128(quantity, 18) AS quantity_38
FROM (
    SELECT namespace_id, day, account_id, source, sum AS quantity, count AS events
    FROM {database}.usage_by_day FINAL
    WHERE {part closed_days}
    UNION ALL
    SELECT
        namespace_id,
        toDate(occurred_at) AS day,
        toString(account_id) AS account_id,
        source,
        sum(toDecimal256(e.quantity, 18)) AS quantity,
        count() AS events
    {part other_days}
    GROUP BY namespace_id, day, account_id, source
)
