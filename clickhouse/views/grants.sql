-- As in accounts.
SELECT
    t.namespace_id AS namespace_id, -- all companies
    t.grant_id AS grant_id,
    t.account_id AS account_id,
    t.metric_id AS metric_id,
    t.currency AS currency,
    toDecimal256(t.amount, 18) AS amount,
    t.description AS description,
    t.contract_v1_id AS contract_id,
    fromUnixTimestamp64Micro(if(t.effective_at > 10413791999999999, 10413791999999999, t.effective_at), 'UTC') AS effective_at,
    fromUnixTimestamp64Micro(if(t.expires_at > 10413791999999999, 10413791999999999, t.expires_at), 'UTC') AS expires_at,
    fromUnixTimestamp64Micro(t.accepted_at, 'UTC') AS accepted_at,
    fromUnixTimestamp64Micro(t.created_at, 'UTC') AS created_at,
    fromUnixTimestamp64Micro(t.updated_at, 'UTC') AS updated_at,
    fromUnixTimestamp64Micro(t.voided_at, 'UTC') AS voided_at,
    fromUnixTimestamp64Micro(t.archived_at, 'UTC') AS archived_at,
    t.amount AS amount_38
FROM {database}.dimension_grants AS t FINAL
WHERE t.namespace_id = {namespace} -- one company
