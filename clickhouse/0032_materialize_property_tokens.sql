-- For what is stored already; waited for, because the pairs go next.
ALTER TABLE usage_events
    MATERIALIZE COLUMN property_tokens,
    MATERIALIZE INDEX property_tokens_text
    SETTINGS mutations_sync = 1
