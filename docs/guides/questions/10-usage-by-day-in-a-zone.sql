-- How much of a metric was used on each of the last 30 full days of a time zone, such as 'Asia/Kolkata'?
-- daily_usage has days in UTC, which cannot be moved to another zone, so this reads events.
SELECT toDate(e.occurred_at, {zone:String}) AS day, sum(e.quantity) AS quantity, count() AS events
FROM events AS e
WHERE e.metric_id = {metric:String}
    AND e.occurred_at >= toStartOfDay(subtractDays(toTimezone(now(), {zone:String}), 30))
    AND e.occurred_at < toStartOfDay(toTimezone(now(), {zone:String}))
GROUP BY day
ORDER BY day WITH FILL
    FROM toDate(now(), {zone:String}) - 30
    TO toDate(now(), {zone:String})
    STEP 1
