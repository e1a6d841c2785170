-- The view of events with the tokens of properties as they are stored, so that their index is used. JSON properties do not say
-- exactly what usage is told apart by: ClickHouse reads nothing of a document in which a whole number takes more than 64 bits.
CREATE OR REPLACE VIEW {analytics}.events DEFINER = CURRENT_USER SQL SECURITY DEFINER AS
SELECT
    e.namespace_id AS namespace_id,
    concat('event_', lower(hex(e.id))) AS event_id,
    e.account_id AS account_id,
    if(startsWith(e.source, 'metric_'), e.source, NULL) AS metric_id,
    if(startsWith(e.source, 'metric_'), NULL, e.source) AS currency,
    toDecimal256(e.quantity, 18) AS quantity,
    e.occurred_at AS occurred_at,
    e.properties AS properties,
    e.accepted_at AS accepted_at,
    e.corrected_at AS corrected_at,
    e.property_tokens AS property_tokens
FROM {database}.usage_events AS e FINAL
WHERE e.voided = 0
