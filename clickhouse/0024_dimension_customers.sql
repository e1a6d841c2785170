-- phase: expand
-- oldest: 0.1.0
-- Copies of rows of PostgreSQL, for analysts; shared/domain/dimension-table.ts has the list of tables and columns. The version is
-- the number of the row's last change, so it does not matter in which order and how often a row is copied. Times are in
-- microseconds since 1970, as ClickHouse's own end in 2299. A row that was deleted stays, marked so.
CREATE TABLE IF NOT EXISTS dimension_customers
(
    namespace_id LowCardinality(String),
    customer_id String,
    name String,
    external_id Nullable(String),
    payments_customer_id Nullable(String),
    accounting_customer_id Nullable(String),
    created_at Int64,
    updated_at Int64,
    version UInt64,
    is_deleted UInt8
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY (namespace_id, customer_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0,
    min_rows_to_fsync_after_merge = 1, max_suspicious_broken_parts = 0
