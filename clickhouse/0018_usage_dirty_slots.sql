-- Marks of slots, or of whole days, whose rollups may lack events: placed before late rows are inserted (stage 0, pending),
-- turned ready (stage 1) after that, and cancelled once the rollups are recomputed. An empty account means all accounts.
-- Marks that one insert of usage places are inserted at once and never change; sign -1 takes one back.
CREATE TABLE IF NOT EXISTS usage_dirty_slots
(
    namespace_id LowCardinality(String),
    account_id LowCardinality(String),
    whole_day UInt8,
    slot DateTime('UTC'),
    insert_id UInt64,
    stage UInt8,
    placed_at DateTime('UTC'),
    sign Int8
)
ENGINE = CollapsingMergeTree(sign)
ORDER BY (namespace_id, account_id, whole_day, slot, insert_id, stage)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 0
