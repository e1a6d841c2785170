-- How many accounts used anything, on each of the last 30 full days?
-- uniq would be approximate, and an account has a row for each metric: uniqExact counts it once. Days without usage show 0.
SELECT day, uniqExact(account_id) AS active_accounts
FROM daily_usage
WHERE day >= today() - 30 AND day < today()
GROUP BY day
ORDER BY day WITH FILL FROM today() - 30 TO today() STEP 1
