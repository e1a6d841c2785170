-- On which of the last 30 full days was the usage of a metric some times above or below the mean of the 7 days before?
-- Days without usage have no row, so they are filled in first: the mean is over 7 days, not over days with usage.
SELECT
    day,
    quantity,
    mean_before,
    quantity > mean_before * {times:UInt8} OR quantity * {times:UInt8} < mean_before AS is_unusual
FROM (
    SELECT
        day,
        quantity,
        sum(quantity) OVER (ORDER BY day ROWS BETWEEN 7 PRECEDING AND 1 PRECEDING) / 7 AS mean_before
    FROM (
        SELECT t.day AS day, sum(t.quantity) AS quantity
        FROM daily_totals AS t
        WHERE t.metric_id = {metric:String} AND t.day >= today() - 37 AND t.day < today()
        GROUP BY day
        ORDER BY day WITH FILL FROM today() - 37 TO today() STEP 1
    )
)
WHERE day >= today() - 30
ORDER BY day
