-- How far a topic of Kafka had been loaded at some time. Kafka counts a record's age from its arrival; the log is kept for
-- a time after it was loaded, so records are deleted up to the newest mark that is old enough, and never before.
CREATE TABLE event_log_marks (
  topic text NOT NULL,
  partition integer NOT NULL,
  log_offset bigint NOT NULL,
  made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (topic, partition, made_at)
);
