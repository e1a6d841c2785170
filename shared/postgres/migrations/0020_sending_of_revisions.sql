-- phase: expand
-- oldest: 0.1.0
-- Finds the corrections of a namespace that may not be loaded yet: those that were sent to the event log lately, or not at all. What
-- is known up to a time must lie before them.
CREATE INDEX event_revisions_by_sending ON event_revisions (namespace_id, sent_at) WHERE revision > 0;
