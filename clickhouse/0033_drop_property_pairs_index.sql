ALTER TABLE usage_events DROP INDEX IF EXISTS property_pairs_text SETTINGS mutations_sync = 1
