-- What did a corrected event say before, and what after each correction?
-- events has what counts now alone. Events that were never corrected have no rows here.
SELECT
    revision,
    if(revision = 0, accepted_at, assumeNotNull(corrected_at)) AS said_at,
    quantity,
    is_void,
    properties,
    key_id
FROM event_revisions
WHERE event_id = {event_id:String}
ORDER BY revision
