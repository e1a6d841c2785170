-- As in accounts.
SELECT
    t.namespace_id AS namespace_id, -- all companies
    t.metric_id AS metric_id,
    t.name AS name,
    t.external_id AS external_id,
    t.measurement_units AS unit,
    t.description AS description,
    fromUnixTimestamp64Micro(t.created_at, 'UTC') AS created_at,
    fromUnixTimestamp64Micro(t.updated_at, 'UTC') AS updated_at,
    fromUnixTimestamp64Micro(t.archived_at, 'UTC') AS archived_at
FROM {database}.dimension_metrics AS t FINAL
WHERE t.namespace_id = {namespace} -- one company
