-- How much of a metric was used in a month up to each of its days?
-- Days without usage are filled in, and days that have not come yet are not shown.
SELECT day, quantity, sum(quantity) OVER (ORDER BY day) AS cumulative
FROM (
    SELECT t.day AS day, sum(t.quantity) AS quantity
    FROM daily_totals AS t
    WHERE t.metric_id = {metric:String}
        AND t.day >= toStartOfMonth({month:Date})
        AND t.day < least(addMonths(toStartOfMonth({month:Date}), 1), today() + 1)
    GROUP BY day
    ORDER BY day WITH FILL
        FROM toStartOfMonth({month:Date})
        TO least(addMonths(toStartOfMonth({month:Date}), 1), today() + 1)
        STEP 1
)
ORDER BY day
