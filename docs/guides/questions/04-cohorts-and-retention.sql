-- Of the accounts that first used a metric in a month, how many used it again in each later month?
-- Imported usage makes old cohorts: imported_accounts had usage from before they were created. is_over marks full months.
SELECT
    cohort,
    months_later,
    countIf(arrayExists(one -> one = addMonths(cohort, months_later), months)) AS active_accounts,
    count() AS cohort_accounts,
    active_accounts / cohort_accounts AS share,
    countIf(first_day < created_on) AS imported_accounts,
    addMonths(cohort, months_later) < toStartOfMonth(today()) AS is_over
FROM (
    SELECT
        u.first_day AS first_day,
        u.months AS months,
        toStartOfMonth(u.first_day) AS cohort,
        toDate(a.created_at) AS created_on,
        arrayJoin(range(toUInt32(dateDiff('month', cohort, today()) + 1))) AS months_later
    FROM (
        SELECT account_id, min(day) AS first_day, groupUniqArray(toStartOfMonth(day)) AS months
        FROM daily_usage
        WHERE metric_id = {metric:String} AND day <= today()
        GROUP BY account_id
    ) AS u
    LEFT ANY JOIN accounts AS a ON a.account_id = u.account_id
)
GROUP BY cohort, months_later
ORDER BY cohort, months_later
