-- What an event is, as events and event_changes have it.
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
