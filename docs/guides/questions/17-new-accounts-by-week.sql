-- How many accounts were created in each of the last 12 weeks, and how many of them have used anything since?
-- Counted from accounts, so that those without usage are there. Weeks begin on Mondays. is_over marks full weeks.
SELECT week, created_accounts, accounts_with_usage, week < toMonday(today()) AS is_over
FROM (
    SELECT
        toMonday(a.created_at) AS week,
        count() AS created_accounts,
        countIf(a.account_id IN (SELECT account_id FROM daily_usage)) AS accounts_with_usage
    FROM accounts AS a
    WHERE a.created_at >= toMonday(today()) - 77
    GROUP BY week
    ORDER BY week WITH FILL FROM toMonday(today()) - 77 TO toMonday(today()) + 7 STEP 7
)
ORDER BY week
