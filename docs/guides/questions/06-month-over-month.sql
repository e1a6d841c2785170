-- How did the usage of a metric grow from month to month, over a year?
-- Growth is NULL, not infinite, after a month without usage, and in the month that is not over (is_over).
SELECT
    month,
    quantity,
    lagInFrame(toNullable(quantity)) OVER (ORDER BY month ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS previous,
    month < toStartOfMonth(today()) AS is_over,
    if(is_over AND previous > 0, toFloat64(quantity - previous) / toFloat64(previous), NULL) AS growth
FROM (
    SELECT toStartOfMonth(t.day) AS month, sum(t.quantity) AS quantity
    FROM daily_totals AS t
    WHERE t.metric_id = {metric:String}
        AND t.day >= addMonths(toStartOfMonth(today()), -12)
        AND t.day <= today()
    GROUP BY month
    ORDER BY month WITH FILL TO addMonths(toStartOfMonth(today()), 1) STEP INTERVAL 1 MONTH
)
ORDER BY month
