-- Which contracts end in the next days, and were they canceled or do they run out?
-- A canceled contract ends at cancel_at, which may be before ends_at: the earlier one counts.
SELECT
    k.contract_id AS contract_id,
    k.name AS contract,
    a.name AS account,
    c.name AS customer,
    arrayMin(arrayFilter(one -> isNotNull(one), [k.ends_at, k.cancel_at])) AS ended_at,
    k.cancel_at IS NOT NULL AND (k.ends_at IS NULL OR k.cancel_at < k.ends_at) AS is_canceled,
    k.cancel_reason AS reason
FROM contracts AS k
LEFT ANY JOIN accounts AS a ON a.account_id = k.account_id
LEFT ANY JOIN customers AS c ON c.customer_id = a.customer_id
WHERE ended_at > now64(6) AND ended_at <= addDays(now64(6), {days:UInt16})
ORDER BY ended_at, contract_id
