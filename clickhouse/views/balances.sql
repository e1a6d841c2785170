-- Grants less usage, by the rule of the API: grants that are in force now, as is_in_force() of PostgreSQL has it, and usage of all
-- time, read as in daily_usage.
WITH
    (
        {part complete_days}
    ) AS complete,
    complete.3 AS marked,
    toUnixTimestamp64Micro(now64(6)) AS now_micros
SELECT
    namespace_id, -- all companies
    account_id,
    if(startsWith(source, 'metric_'), source, NULL) AS metric_id,
    if(startsWith(source, 'metric_'), NULL, source) AS currency,
    sum(amount) AS granted,
    sum(quantity) AS used,
    sum(amount) - sum(quantity) AS balance,
    toDecimal128(sum(amount) - sum(quantity), 18) AS balance_38
FROM (
    SELECT
        t.namespace_id AS namespace_id,
        t.account_id AS account_id,
        ifNull(t.metric_id, ifNull(t.currency, '')) AS source,
        if(
            t.voided_at IS NULL AND t.archived_at IS NULL AND t.effective_at <= now_micros
                AND (t.expires_at IS NULL OR t.expires_at > now_micros),
            toDecimal256(t.amount, 18),
            toDecimal256(0, 18)
        ) AS amount,
        toDecimal256(0, 18) AS quantity
    FROM {database}.dimension_grants AS t FINAL
    WHERE t.namespace_id = {namespace} -- one company
    UNION ALL
    SELECT namespace_id, account_id, toString(source) AS source, toDecimal256(0, 18) AS amount, sum AS quantity
    FROM {database}.usage_by_day FINAL
    WHERE {part closed_days}
    UNION ALL
    SELECT
        namespace_id,
        toString(account_id) AS account_id,
        toString(source) AS source,
        toDecimal256(0, 18) AS amount,
        sum(toDecimal256(e.quantity, 18)) AS quantity
    {part other_days}
    GROUP BY namespace_id, account_id, source
)
GROUP BY namespace_id, account_id, source
