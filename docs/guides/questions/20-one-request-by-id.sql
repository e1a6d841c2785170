-- What was reported for one request, by its property request_id?
-- Tokens of properties have an index. Reading the id from the text of properties would go through all events.
SELECT
    e.occurred_at AS occurred_at,
    e.event_id AS event_id,
    e.account_id AS account_id,
    e.metric_id AS metric_id,
    e.currency AS currency,
    e.quantity AS quantity,
    e.properties AS properties
FROM events AS e
WHERE has(e.property_tokens, property('request_id', {request_id:String}))
ORDER BY occurred_at, event_id
