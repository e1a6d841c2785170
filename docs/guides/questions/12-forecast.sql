-- How much of a metric will be used on each of the next 30 days, if the last 28 full days go on in a straight line?
-- Days without usage count as 0, and today is left out, as it is not over. The answer is an estimate, in floating point.
SELECT
    today() - 1 + ahead AS day,
    greatest(0, line.1 * (27 + ahead) + line.2) AS forecast
FROM (
    SELECT simpleLinearRegression(dateDiff('day', today() - 28, day), toFloat64(quantity)) AS line
    FROM (
        SELECT t.day AS day, sum(t.quantity) AS quantity
        FROM daily_totals AS t
        WHERE t.metric_id = {metric:String} AND t.day >= today() - 28 AND t.day < today()
        GROUP BY day
        ORDER BY day WITH FILL FROM today() - 28 TO today() STEP 1
    )
)
ARRAY JOIN range(1, 31) AS ahead
ORDER BY day
