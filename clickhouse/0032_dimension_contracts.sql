-- phase: expand
-- oldest: 0.1.0
-- As in dimension_customers.
CREATE TABLE IF NOT EXISTS dimension_contracts
(
    namespace_id LowCardinality(String),
    contract_id String,
    account_id String,
    name Nullable(String),
    external_id Nullable(String),
    currency String,
    cadence String,
    anchor_at Int64,
    starts_at Int64,
    ends_at Nullable(Int64),
    cancel_at Nullable(Int64),
    cancel_requested_at Nullable(Int64),
    cancel_mode Nullable(String),
    cancel_reason Nullable(String),
    description Nullable(String),
    created_at Int64,
    updated_at Int64,
    version UInt64,
    is_deleted UInt8
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY (namespace_id, contract_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0,
    min_rows_to_fsync_after_merge = 1, max_suspicious_broken_parts = 0
