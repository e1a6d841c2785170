-- As in accounts.
SELECT
    t.namespace_id AS namespace_id, -- all companies
    t.contract_line_id AS contract_line_id,
    t.contract_id AS contract_id,
    t.account_id AS account_id,
    multiIf(t.rate_card_id IS NOT NULL, 'card', t.price_id IS NOT NULL, 'price', t.minimum_amount IS NOT NULL, 'minimum', 'credit') AS kind,
    t.rate_card_id AS rate_card_id,
    t.price_id AS price_id,
    toDecimal256(t.quantity, 18) AS quantity,
    toDecimal256(t.discount_percent, 18) AS discount_percent,
    toDecimal256(t.minimum_amount, 18) AS minimum_amount,
    toDecimal256(t.credit_amount, 18) AS credit_amount,
    t.credit_metric_id AS credit_metric_id,
    t.credit_currency AS credit_currency,
    t.credit_expires AS credit_expires,
    t.overrides AS overrides,
    t.description AS description,
    fromUnixTimestamp64Micro(if(t.starts_at > 10413791999999999, 10413791999999999, t.starts_at), 'UTC') AS starts_at,
    fromUnixTimestamp64Micro(if(t.ends_at > 10413791999999999, 10413791999999999, t.ends_at), 'UTC') AS ends_at,
    fromUnixTimestamp64Micro(t.created_at, 'UTC') AS created_at
FROM {database}.dimension_contract_lines AS t FINAL
WHERE t.namespace_id = {namespace} -- one company
