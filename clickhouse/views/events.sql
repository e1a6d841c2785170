-- Quantities are widened, so that no sum an analyst writes can wrap around.
-- What usage is told apart by is beside the properties, which as JSON do not say it exactly: ClickHouse reads nothing of a
-- document in which a whole number takes more than 64 bits. Tokens are as they are stored, so that their index is used.
SELECT
    e.namespace_id AS namespace_id, -- all companies
    concat('event_', lower(hex(e.id))) AS event_id,
    e.account_id AS account_id,
    if(startsWith(e.source, 'metric_'), e.source, NULL) AS metric_id,
    if(startsWith(e.source, 'metric_'), NULL, e.source) AS currency,
    toDecimal256(e.quantity, 18) AS quantity,
    e.occurred_at AS occurred_at,
    e.properties AS properties,
    e.accepted_at AS accepted_at,
    e.corrected_at AS corrected_at,
    e.property_tokens AS property_tokens,
    e.quantity AS quantity_38
FROM {database}.usage_events AS e FINAL
WHERE e.voided = 0
    AND e.namespace_id = {namespace} -- one company
