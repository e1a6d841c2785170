-- The pairs come with each line and are kept as tokens alone.
ALTER TABLE usage_events MODIFY COLUMN property_pairs Array(String) EPHEMERAL
