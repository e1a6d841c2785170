-- What did each customer's accounts use in a month, and under which contracts are they now?
-- An account may have several contracts: they are put into one list first, as a plain join would count usage twice.
SELECT
    ifNull(c.name, '') AS customer,
    u.account_id AS account_id,
    a.name AS account,
    k.names AS contracts,
    coalesce(nullIf(m.name, ''), u.metric_id, u.currency) AS metric_or_currency,
    if(u.metric_id IS NULL, assumeNotNull(u.currency), m.unit) AS unit,
    u.used AS quantity
FROM (
    SELECT account_id, metric_id, currency, sum(quantity) AS used
    FROM daily_usage
    WHERE day >= toStartOfMonth({month:Date}) AND day < addMonths(toStartOfMonth({month:Date}), 1)
    GROUP BY account_id, metric_id, currency
) AS u
LEFT ANY JOIN accounts AS a ON a.account_id = u.account_id
LEFT ANY JOIN customers AS c ON c.customer_id = a.customer_id
LEFT ANY JOIN metrics AS m ON m.metric_id = u.metric_id
LEFT ANY JOIN (
    SELECT account_id, arraySort(groupArray(coalesce(name, contract_id))) AS names
    FROM contracts
    WHERE starts_at <= now() AND (ends_at IS NULL OR ends_at > now()) AND (cancel_at IS NULL OR cancel_at > now())
    GROUP BY account_id
) AS k ON k.account_id = u.account_id
ORDER BY customer, account, account_id, metric_or_currency
