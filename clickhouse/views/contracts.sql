-- As in accounts.
SELECT
    t.namespace_id AS namespace_id, -- all companies
    t.contract_id AS contract_id,
    t.account_id AS account_id,
    t.name AS name,
    t.external_id AS external_id,
    t.currency AS currency,
    t.cadence AS cadence,
    fromUnixTimestamp64Micro(if(t.anchor_at > 10413791999999999, 10413791999999999, t.anchor_at), 'UTC') AS anchor_at,
    fromUnixTimestamp64Micro(if(t.starts_at > 10413791999999999, 10413791999999999, t.starts_at), 'UTC') AS starts_at,
    fromUnixTimestamp64Micro(if(t.ends_at > 10413791999999999, 10413791999999999, t.ends_at), 'UTC') AS ends_at,
    fromUnixTimestamp64Micro(if(t.cancel_at > 10413791999999999, 10413791999999999, t.cancel_at), 'UTC') AS cancel_at,
    t.cancel_mode AS cancel_mode,
    t.cancel_reason AS cancel_reason,
    fromUnixTimestamp64Micro(t.cancel_requested_at, 'UTC') AS cancel_requested_at,
    t.description AS description,
    fromUnixTimestamp64Micro(t.created_at, 'UTC') AS created_at,
    fromUnixTimestamp64Micro(t.updated_at, 'UTC') AS updated_at
FROM {database}.dimension_contracts AS t FINAL
WHERE t.namespace_id = {namespace} -- one company
