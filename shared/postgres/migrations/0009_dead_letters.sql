-- phase: expand
-- oldest: 0.1.0
-- What the loader could not read or ClickHouse would not take: the reason, the place in the log, and the bytes. One row
-- for each line, however often the record is read again.
CREATE TABLE dead_letters (
  dead_letter_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  topic text NOT NULL,
  partition integer NOT NULL,
  log_offset bigint NOT NULL,
  line integer NOT NULL,
  reason text NOT NULL,
  value bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  retried_at timestamptz,
  UNIQUE (topic, partition, log_offset, line)
);
