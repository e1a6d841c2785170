-- As in accounts.
SELECT
    t.namespace_id AS namespace_id, -- all companies
    t.rate_id AS rate_id,
    t.rate_card_id AS rate_card_id,
    t.metric_id AS metric_id,
    t.currency AS currency,
    t.aggregation AS aggregation,
    t.filters AS filters,
    t.group_by AS group_by,
    t.prices AS prices,
    fromUnixTimestamp64Micro(if(t.starts_at > 10413791999999999, 10413791999999999, t.starts_at), 'UTC') AS starts_at,
    fromUnixTimestamp64Micro(if(t.ends_at > 10413791999999999, 10413791999999999, t.ends_at), 'UTC') AS ends_at,
    fromUnixTimestamp64Micro(t.created_at, 'UTC') AS created_at
FROM {database}.dimension_rates AS t FINAL
WHERE t.namespace_id = {namespace} -- one company
