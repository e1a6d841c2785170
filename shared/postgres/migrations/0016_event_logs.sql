-- Which event log is in force. A process with other settings would take usage into a log that nobody loads, or load from one
-- that nobody fills, and every number would look right.
CREATE TABLE event_logs (
  source text PRIMARY KEY,          -- where its records lie: see EventLog.source
  in_force_since timestamptz NOT NULL DEFAULT clock_timestamp()
);

INSERT INTO event_logs (source)
  SELECT DISTINCT topic FROM event_log_partitions WHERE topic = 'usage-events' AND next_offset > 0;
