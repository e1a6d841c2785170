-- phase: expand
-- oldest: 0.1.0
-- Which ClickHouse this is, whatever its address. PostgreSQL knows the one that usage is loaded into; a copy is the same one.
CREATE TABLE IF NOT EXISTS usage_store (id UUID)
ENGINE = MergeTree
ORDER BY id
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0,
    min_rows_to_fsync_after_merge = 1, max_suspicious_broken_parts = 0
