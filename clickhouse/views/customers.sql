-- As in accounts.
SELECT
    t.namespace_id AS namespace_id, -- all companies
    t.customer_id AS customer_id,
    t.name AS name,
    t.external_id AS external_id,
    t.payments_customer_id AS payments_customer_id,
    t.accounting_customer_id AS accounting_customer_id,
    fromUnixTimestamp64Micro(t.created_at, 'UTC') AS created_at,
    fromUnixTimestamp64Micro(t.updated_at, 'UTC') AS updated_at
FROM {database}.dimension_customers AS t FINAL
WHERE t.namespace_id = {namespace} -- one company
