-- phase: expand
-- oldest: 0.1.0
-- Which CloudEvents a metric counts, and the field of their data that has the quantity; without one each counts as 1.
ALTER TABLE metrics
  ADD COLUMN event_type text COLLATE "C" CHECK (char_length(event_type) BETWEEN 1 AND 256),
  ADD COLUMN event_quantity text COLLATE "C" CHECK (event_quantity ~ '^[A-Za-z0-9_.-]{1,100}$');

CREATE INDEX metrics_by_event_type ON metrics (namespace_id, event_type) WHERE event_type IS NOT NULL;
