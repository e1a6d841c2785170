-- How many contracts began and ended in each of the last 12 months, and which share of those in force at its start ended?
-- Withdrawn contracts were never in force and are left out. The share is NULL without contracts. is_over marks full months.
SELECT
    month,
    countIf(starts_at >= month AND starts_at < addMonths(month, 1)) AS began,
    countIf(starts_at < month AND ended_at > month) AS in_force_at_start,
    countIf(starts_at < month AND ended_at > month AND ended_at <= least(addMonths(month, 1), now64(6))) AS ended_of_these,
    if(in_force_at_start > 0, ended_of_these / in_force_at_start, NULL) AS churn,
    addMonths(month, 1) <= now() AS is_over
FROM (
    SELECT
        starts_at,
        least(coalesce(ends_at, toDateTime64('2299-12-31', 6, 'UTC')), coalesce(cancel_at, toDateTime64('2299-12-31', 6, 'UTC'))) AS ended_at
    FROM contracts
)
ARRAY JOIN arrayMap(ago -> toDateTime(addMonths(toStartOfMonth(today()), -ago), 'UTC'), range(12)) AS month
WHERE ended_at > starts_at
GROUP BY month
ORDER BY month
