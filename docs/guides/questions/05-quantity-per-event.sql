-- How large are single events of a metric: median, 95th and 99th percentile, on each of the last 30 full days?
-- quantile prints digits that nobody reported, so this takes quantileExact, which gives a quantity that was reported.
SELECT
    toDate(e.occurred_at) AS day,
    count() AS events,
    quantileExact(0.5)(e.quantity_38) AS median,
    quantileExact(0.95)(e.quantity_38) AS p95,
    quantileExact(0.99)(e.quantity_38) AS p99,
    max(e.quantity_38) AS largest
FROM events AS e
WHERE e.metric_id = {metric:String} AND e.occurred_at >= today() - 30 AND e.occurred_at < today()
GROUP BY day
ORDER BY day
