-- What are the last 100 events of an account?
-- A range of days makes it fast: without one, all of the account's events are read and sorted.
SELECT
    e.occurred_at AS occurred_at,
    e.event_id AS event_id,
    coalesce(nullIf(m.name, ''), e.metric_id, e.currency) AS metric_or_currency,
    e.quantity AS quantity,
    e.properties AS properties
FROM (
    SELECT occurred_at, event_id, metric_id, currency, quantity, properties
    FROM events
    WHERE account_id = {account:String} AND occurred_at >= today() - {days:UInt16}
    ORDER BY occurred_at DESC, event_id DESC
    LIMIT 100
) AS e
LEFT ANY JOIN metrics AS m ON m.metric_id = e.metric_id
ORDER BY occurred_at DESC, event_id DESC
