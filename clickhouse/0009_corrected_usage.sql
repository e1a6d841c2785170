-- phase: expand
-- oldest: 0.1.0
-- Whose usage was corrected, and when the correction was stored: corrections keep the time their report was accepted at, so
-- the list by acceptance does not show that something has changed. Kept for a day; an entry too many changes nothing.
CREATE TABLE IF NOT EXISTS corrected_usage
(
    stored_at DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    namespace_id LowCardinality(String),
    account_id LowCardinality(String),
    source LowCardinality(String)
)
ENGINE = MergeTree
ORDER BY stored_at
TTL toDateTime(stored_at, 'UTC') + INTERVAL 1 DAY
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0,
    min_rows_to_fsync_after_merge = 1, max_suspicious_broken_parts = 0
