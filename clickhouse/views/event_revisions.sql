-- As in accounts.
SELECT
    t.namespace_id AS namespace_id, -- all companies
    t.event_id AS event_id,
    t.revision AS revision,
    t.account_id AS account_id,
    t.metric_id AS metric_id,
    t.currency AS currency,
    toDecimal256(t.quantity, 18) AS quantity,
    toDateTime(reinterpretAsUInt32(reverse(unhex(substring(t.event_id, 7, 8)))), 'UTC') AS occurred_at,
    t.properties AS properties,
    CAST(t.voided, 'Bool') AS is_void,
    fromUnixTimestamp64Micro(t.accepted_at, 'UTC') AS accepted_at,
    fromUnixTimestamp64Micro(t.corrected_at, 'UTC') AS corrected_at,
    t.key_id AS key_id,
    t.quantity AS quantity_38
FROM {database}.dimension_event_revisions AS t FINAL
WHERE t.namespace_id = {namespace} -- one company
