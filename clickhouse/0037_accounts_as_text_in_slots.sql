-- As in usage_by_day.
ALTER TABLE usage_by_slot MODIFY COLUMN account_id String CODEC(ZSTD(1)) SETTINGS mutations_sync = 1
