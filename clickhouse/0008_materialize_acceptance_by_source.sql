-- Builds the indexes for what is stored already, in the background; until then it is read without them.
ALTER TABLE usage_events_by_acceptance
    MATERIALIZE INDEX IF EXISTS account_text,
    MATERIALIZE INDEX IF EXISTS source_text
