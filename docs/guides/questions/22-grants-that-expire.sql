-- What is an account's balance now, and what will it be without the grants that expire in the next days?
-- Sums of grants would count those that are voided, expired or not effective yet: balances counts as the API does.
SELECT
    b.metric_id AS metric_id,
    b.currency AS currency,
    b.granted AS granted,
    b.used AS used,
    b.balance AS balance,
    ifNull(g.expiring, toDecimal256(0, 18)) AS expiring,
    b.balance - expiring AS balance_without,
    g.next_expiry AS next_expiry
FROM balances AS b
LEFT ANY JOIN (
    SELECT
        coalesce(metric_id, currency) AS source,
        sum(amount) AS expiring,
        toNullable(min(assumeNotNull(expires_at))) AS next_expiry
    FROM grants
    WHERE account_id = {account:String}
        AND voided_at IS NULL
        AND archived_at IS NULL
        AND effective_at <= now64(6)
        AND expires_at > now64(6)
        AND expires_at <= addDays(now64(6), {days:UInt16})
    GROUP BY source
) AS g ON g.source = coalesce(b.metric_id, b.currency)
WHERE b.account_id = {account:String}
ORDER BY metric_id, currency
