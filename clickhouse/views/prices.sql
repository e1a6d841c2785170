-- As in accounts.
SELECT
    t.namespace_id AS namespace_id, -- all companies
    t.price_id AS price_id,
    t.product_id AS product_id,
    t.currency AS currency,
    JSONExtractString(t.terms, 'model') AS model,
    t.terms AS terms,
    t.description AS description,
    fromUnixTimestamp64Micro(t.created_at, 'UTC') AS created_at,
    fromUnixTimestamp64Micro(t.updated_at, 'UTC') AS updated_at,
    fromUnixTimestamp64Micro(t.archived_at, 'UTC') AS archived_at
FROM {database}.dimension_prices AS t FINAL
WHERE t.namespace_id = {namespace} -- one company
