-- Every event by its last change. Who has all rows that changed before a time, and takes over by event_id all rows that
-- changed later, has what is in `events` once voided ones are left out: of two rows of an event, the one that counts is never
-- accepted and corrected both before the other one was. The later of both times, as the clock of a correction may have been
-- behind that of its report.
SELECT
    e.namespace_id AS namespace_id, -- all companies
    concat('event_', lower(hex(e.id))) AS event_id,
    greatest(e.accepted_at, ifNull(e.corrected_at, e.accepted_at)) AS changed_at,
    CAST(e.voided, 'Bool') AS is_void,
    {part event_columns}
FROM {database}.usage_events AS e FINAL
WHERE e.namespace_id = {namespace} -- one company
