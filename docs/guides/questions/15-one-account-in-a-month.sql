-- What did an account use in a month, of each metric and currency?
-- Each metric and each currency has a row of its own, as their quantities do not add up.
SELECT
    u.metric_id AS metric_id,
    u.currency AS currency,
    m.name AS metric,
    m.unit AS unit,
    u.used AS quantity,
    u.number AS events
FROM (
    SELECT metric_id, currency, sum(quantity) AS used, sum(events) AS number
    FROM daily_usage
    WHERE account_id = {account:String}
        AND day >= toStartOfMonth({month:Date})
        AND day < addMonths(toStartOfMonth({month:Date}), 1)
    GROUP BY metric_id, currency
) AS u
LEFT ANY JOIN metrics AS m ON m.metric_id = u.metric_id
ORDER BY metric_id, currency
