-- Events that were accepted 40 days after they occurred or later, once more, in order of accounts: usage_events is in order of time, so
-- to read one account while years of history come in would be to read all of them (decision 17). A row is stored here before it is stored
-- there; insert_mark is that of the insert (usage_dirty_slots, with whole_day 2 for a day and 3 for a month), and while it is pending the row may not be there yet.
--
-- The columns that are not kept are taken in all the same, so that a line is refused here that would be refused there.
CREATE TABLE IF NOT EXISTS usage_history
(
    namespace_id LowCardinality(String),
    account_id String CODEC(ZSTD(1)),
    source LowCardinality(String),
    occurred_at DateTime('UTC') CODEC(Delta, ZSTD(1)),
    event_id String EPHEMERAL,
    id FixedString(16) DEFAULT unhex(substring(event_id, 7)),
    quantity Decimal(38, 18) CODEC(ZSTD(1)),
    properties String EPHEMERAL,
    property_pairs Array(String) EPHEMERAL,
    accepted_at DateTime64(6, 'UTC') EPHEMERAL,
    corrected_at Nullable(DateTime64(6, 'UTC')) EPHEMERAL,
    voided UInt8 DEFAULT 0,
    version UInt64 CODEC(Delta, ZSTD(1)),
    insert_mark UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (namespace_id, account_id, source, occurred_at, id)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0
