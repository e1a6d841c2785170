-- Every event by its last change. Who has all rows that changed before a time, and takes over by event_id all rows that
-- changed later, has what is in `events` once voided ones are left out: of two rows of an event, the one that counts is never
-- accepted and corrected both before the other one was. The later of both times, as the clock of a correction may have been
-- behind that of its report.
SELECT
    e.namespace_id AS namespace_id, -- all companies
    concat('event_', lower(hex(e.id))) AS event_id,
    greatest(e.accepted_at, ifNull(e.corrected_at, e.accepted_at)) AS changed_at,
    CAST(e.voided, 'Bool') AS is_void,
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
WHERE e.namespace_id = {namespace} -- one company
