-- phase: expand
-- oldest: 0.1.0
-- As in dimension_customers.
CREATE TABLE IF NOT EXISTS dimension_products
(
    namespace_id LowCardinality(String),
    product_id String,
    name String,
    external_id Nullable(String),
    description Nullable(String),
    created_at Int64,
    updated_at Int64,
    archived_at Nullable(Int64),
    version UInt64,
    is_deleted UInt8
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY (namespace_id, product_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0,
    min_rows_to_fsync_after_merge = 1, max_suspicious_broken_parts = 0
