-- Quantities are widened, so that no sum an analyst writes can wrap around.
-- What usage is told apart by is beside the properties, which as JSON do not say it exactly: ClickHouse reads nothing of a
-- document in which a whole number takes more than 64 bits. Tokens are as they are stored, so that their index is used.
SELECT
    e.namespace_id AS namespace_id, -- all companies
    concat('event_', lower(hex(e.id))) AS event_id,
    {part event_columns}
FROM {database}.usage_events AS e FINAL
WHERE e.voided = 0
    AND e.namespace_id = {namespace} -- one company
