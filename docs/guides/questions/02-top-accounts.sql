-- Which ten accounts used most of a metric in a month?
-- Without the metric, tokens and dollars would add up. Names are looked up after the sums.
SELECT u.account_id AS account_id, a.name AS name, u.used AS quantity
FROM (
    SELECT account_id, sum(quantity) AS used
    FROM daily_usage
    WHERE metric_id = {metric:String}
        AND day >= toStartOfMonth({month:Date})
        AND day < addMonths(toStartOfMonth({month:Date}), 1)
    GROUP BY account_id
    ORDER BY used DESC, account_id
    LIMIT 10
) AS u
LEFT ANY JOIN accounts AS a ON a.account_id = u.account_id
ORDER BY quantity DESC, account_id
