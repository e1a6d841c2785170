-- Which share of a metric's usage in a month is that of the ten accounts that used most?
-- The share is NULL, not "not a number", in a month without usage.
SELECT
    sumIf(used, place <= 10) AS of_ten_largest,
    sum(used) AS of_all,
    count() AS accounts,
    if(of_all > 0, toFloat64(of_ten_largest) / toFloat64(of_all), NULL) AS share
FROM (
    SELECT used, row_number() OVER (ORDER BY used DESC, account_id) AS place
    FROM (
        SELECT account_id, sum(quantity) AS used
        FROM daily_usage
        WHERE metric_id = {metric:String}
            AND day >= toStartOfMonth({month:Date})
            AND day < addMonths(toStartOfMonth({month:Date}), 1)
        GROUP BY account_id
    )
)
