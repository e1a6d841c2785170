-- phase: expand
-- oldest: 0.1.0
-- overrides: a list of {product_id, has_value, value, price_id}, in the order in which they were given.
CREATE TABLE IF NOT EXISTS dimension_contract_lines
(
    namespace_id LowCardinality(String),
    contract_line_id String,
    contract_id String,
    account_id String,
    rate_card_id Nullable(String),
    price_id Nullable(String),
    quantity Nullable(Decimal(38, 18)),
    discount_percent Nullable(Decimal(38, 18)),
    minimum_amount Nullable(Decimal(38, 18)),
    credit_amount Nullable(Decimal(38, 18)),
    credit_metric_id Nullable(String),
    credit_currency Nullable(String),
    credit_expires Nullable(String),
    overrides String,
    description Nullable(String),
    starts_at Int64,
    ends_at Nullable(Int64),
    created_at Int64,
    version UInt64,
    is_deleted UInt8
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY (namespace_id, contract_line_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0,
    min_rows_to_fsync_after_merge = 1, max_suspicious_broken_parts = 0
