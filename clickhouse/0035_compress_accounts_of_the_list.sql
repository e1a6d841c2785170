ALTER TABLE usage_events_by_acceptance MODIFY COLUMN account_id CODEC(ZSTD(1))
