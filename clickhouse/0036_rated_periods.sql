-- phase: expand
-- oldest: 0.1.0
-- Rated periods of contracts, for analysts: the lines of the invoice preview, and what each day added to them. All lines of a
-- period are one row, each column a list, so that a rating replaces the rating before it as a whole, and lines that the new one does not have are gone.
-- Times are Unix seconds; version and rated_at are microseconds. basis: the contract's last change, and the fill of
-- dimension_copies, as text.
CREATE TABLE IF NOT EXISTS rated_periods
(
    namespace_id LowCardinality(String),
    contract_id String,
    starts_at Int64,
    ends_at Int64,
    account_id String,
    customer_id Nullable(String),
    currency String,
    as_of Int64,
    usage_as_of Int64,
    rated_at Int64,
    is_final UInt8,
    basis String,
    line_day Array(Date),
    line_kind Array(String),
    line_contract_line_id Array(Nullable(String)),
    line_starts_at Array(Int64),
    line_rate_id Array(Nullable(String)),
    line_product_id Array(Nullable(String)),
    line_price_id Array(Nullable(String)),
    line_metric_id Array(Nullable(String)),
    line_usage_currency Array(Nullable(String)),
    line_aggregation Array(Nullable(String)),
    line_group_by Array(Nullable(String)),
    line_value Array(Nullable(String)),
    line_quantity Array(Decimal(76, 18)),
    line_events Array(Int64),
    line_unit_amount Array(Nullable(Decimal(76, 18))),
    line_per Array(Nullable(Decimal(76, 18))),
    line_exact_amount Array(Decimal(76, 18)),
    line_amount Array(Decimal(76, 18)),
    line_quantity_to_date Array(Decimal(76, 18)),
    line_exact_amount_to_date Array(String),
    line_amount_to_date Array(Decimal(76, 18)),
    version UInt64,
    is_deleted UInt8
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY (namespace_id, contract_id, starts_at)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0,
    min_rows_to_fsync_after_merge = 1, max_suspicious_broken_parts = 0
