-- How much of a metric was used in each hour of the last 7 full days of a time zone, such as 'Europe/Berlin'?
-- When clocks go back, an hour comes twice: hour_utc distinguishes the two. Hours without usage show 0.
SELECT toTimezone(hour, {zone:String}) AS hour_there, hour AS hour_utc, quantity
FROM (
    SELECT toTimezone(toStartOfHour(e.occurred_at, {zone:String}), 'UTC') AS hour, sum(e.quantity) AS quantity
    FROM events AS e
    WHERE e.metric_id = {metric:String}
        AND e.occurred_at >= toStartOfDay(subtractDays(toTimezone(now(), {zone:String}), 7))
        AND e.occurred_at < toStartOfDay(toTimezone(now(), {zone:String}))
    GROUP BY hour
    ORDER BY hour WITH FILL
        FROM toTimezone(toStartOfDay(subtractDays(toTimezone(now(), {zone:String}), 7)), 'UTC')
        TO toTimezone(toStartOfDay(toTimezone(now(), {zone:String})), 'UTC')
        STEP INTERVAL 1 HOUR
)
ORDER BY hour_utc
