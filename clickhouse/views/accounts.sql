-- Rows of PostgreSQL, as they were copied last. Times are microseconds there, and a later one than DateTime64 can show is shown as
-- the last one that it can.
SELECT
    t.namespace_id AS namespace_id, -- all companies
    t.account_id AS account_id,
    t.name AS name,
    t.external_id AS external_id,
    t.customer_id AS customer_id,
    t.description AS description,
    fromUnixTimestamp64Micro(t.created_at, 'UTC') AS created_at,
    fromUnixTimestamp64Micro(t.updated_at, 'UTC') AS updated_at,
    fromUnixTimestamp64Micro(t.archived_at, 'UTC') AS archived_at
FROM {database}.dimension_accounts AS t FINAL
WHERE t.namespace_id = {namespace} -- one company
