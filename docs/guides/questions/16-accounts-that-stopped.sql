-- Which accounts used nothing in the last days, and when did they last?
-- Accounts that never used anything are in no view of usage, so this begins with accounts. Their last_day is NULL.
SELECT a.account_id AS account_id, a.name AS name, u.last_day AS last_day
FROM accounts AS a
LEFT ANY JOIN (
    SELECT account_id, toNullable(max(day)) AS last_day
    FROM daily_usage
    GROUP BY account_id
) AS u ON u.account_id = a.account_id
WHERE a.archived_at IS NULL AND (u.last_day IS NULL OR u.last_day < today() - {days:UInt16})
ORDER BY last_day DESC NULLS LAST, account_id
