-- Slots of the last days before this have totals. An epoch from before there were any has none until a rollup service fills them.
ALTER TABLE rollup_epochs ADD COLUMN IF NOT EXISTS slot_totals_through SimpleAggregateFunction(max, DateTime('UTC'))
