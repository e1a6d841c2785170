-- phase: expand
-- oldest: 0.1.0
-- The event log on PostgreSQL: offsets without gaps in each partition, records in segment tables that are dropped
-- whole (deleting rows left hundreds of megabytes for no live row).
CREATE TABLE event_log_segments (
  segment_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  topic text NOT NULL,
  opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  closed_at timestamptz,
  -- When housekeeping first saw that every consumer group had passed it; its retention counts from here.
  consumed_at timestamptz
);

-- Where each partition ends and into which segment it is written: the row that appends take in order of partition.
CREATE TABLE event_log_partitions (
  topic text NOT NULL,
  partition integer NOT NULL,
  next_offset bigint NOT NULL DEFAULT 0,
  segment_id bigint NOT NULL REFERENCES event_log_segments,
  PRIMARY KEY (topic, partition)
) WITH (fillfactor = 20);

-- The first offset of each partition that lies in a segment.
CREATE TABLE event_log_bounds (
  topic text NOT NULL,
  partition integer NOT NULL,
  segment_id bigint NOT NULL REFERENCES event_log_segments ON DELETE CASCADE,
  first_offset bigint NOT NULL,
  PRIMARY KEY (topic, partition, segment_id)
);

-- How far a consumer group has read, and which of its members reads the partition now.
CREATE TABLE event_log_offsets (
  consumer_group text NOT NULL,
  topic text NOT NULL,
  partition integer NOT NULL,
  next_offset bigint NOT NULL DEFAULT 0,
  owner uuid,
  leased_until timestamptz,
  PRIMARY KEY (consumer_group, topic, partition)
) WITH (fillfactor = 20);

CREATE TABLE event_log_members (
  consumer_group text NOT NULL,
  topic text NOT NULL,
  member_id uuid NOT NULL,
  leased_until timestamptz NOT NULL,
  PRIMARY KEY (consumer_group, topic, member_id)
);

-- Appends records to several partitions: all of them, or none. The values lie end to end in `body`.
CREATE FUNCTION event_log_append(
  for_topic text, partitions integer[], accepted bigint[], encodings smallint[], sizes integer[],
  decoded_sizes integer[], body bytea
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  firsts bigint[];
  current_id bigint;
BEGIN
  -- In order of partition: appends of several processes wait for each other instead of deadlocking. The rows stay taken
  -- until the commit, so offsets become visible in their order and without gaps.
  PERFORM 1 FROM event_log_partitions e
    WHERE e.topic = for_topic AND e.partition = ANY (partitions) ORDER BY e.partition FOR UPDATE;
  WITH moved AS (
    UPDATE event_log_partitions e SET next_offset = e.next_offset + c.records
      FROM (SELECT p AS partition, count(*) AS records FROM unnest(partitions) p GROUP BY p) c
      WHERE e.topic = for_topic AND e.partition = c.partition
      RETURNING e.partition, e.next_offset - c.records AS first_offset, e.segment_id
  )
  -- Indexed by partition: partitions are numbered from 0, arrays from 1.
  SELECT array_agg(m.first_offset ORDER BY n), max(m.segment_id) INTO firsts, current_id
    FROM generate_series(0, (SELECT max(partition) FROM moved)) n LEFT JOIN moved m ON m.partition = n;
  EXECUTE format('INSERT INTO event_log_segment_%s
      (partition, log_offset, accepted_at, appended_at, encoding, size, decoded_size, value)
    SELECT partition, ($1)[partition + 1] + row_number() OVER (PARTITION BY partition ORDER BY place) - 1,
      accepted_at, clock_timestamp(), encoding, size, decoded_size,
      substring($2 FROM (sum(size) OVER (ORDER BY place) - size + 1)::integer FOR size)
    FROM unnest($3, $4, $5, $6, $7) WITH ORDINALITY
      AS t (partition, accepted_at, encoding, size, decoded_size, place)', current_id)
    USING firsts, body, partitions, accepted, encodings, sizes, decoded_sizes;
  IF (SELECT count(*) FROM unnest(partitions)) <> (SELECT count(*) FROM unnest(sizes)) OR firsts IS NULL THEN
    RAISE EXCEPTION 'records do not match their partitions';
  END IF;
END $$;

-- The services' role owns no table, so it opens and drops segments through these.
CREATE FUNCTION event_log_open_segment(for_topic text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = tally, pg_temp AS $$
DECLARE
  new_id bigint;
BEGIN
  -- Taking every partition in order keeps appends out until the new segment is theirs.
  PERFORM 1 FROM event_log_partitions WHERE topic = for_topic ORDER BY partition FOR UPDATE;
  UPDATE event_log_segments SET closed_at = clock_timestamp() WHERE topic = for_topic AND closed_at IS NULL;
  INSERT INTO event_log_segments (topic) VALUES (for_topic) RETURNING segment_id INTO new_id;
  EXECUTE format('CREATE TABLE event_log_segment_%s (
      partition integer NOT NULL,
      log_offset bigint NOT NULL,
      accepted_at bigint NOT NULL,         -- microseconds since 1970
      appended_at timestamptz NOT NULL,
      encoding smallint NOT NULL,          -- 0 plain, 1 gzip
      size integer NOT NULL,               -- bytes of value
      decoded_size integer NOT NULL,       -- of what it holds: gzip may hide a hundredfold
      value bytea NOT NULL,
      PRIMARY KEY (partition, log_offset) INCLUDE (accepted_at)
    )', new_id);
  EXECUTE format('ALTER TABLE event_log_segment_%s ALTER COLUMN value SET STORAGE EXTERNAL', new_id);
  EXECUTE format('GRANT SELECT, INSERT ON event_log_segment_%s TO %I', new_id, session_user);
  UPDATE event_log_partitions SET segment_id = new_id WHERE topic = for_topic;
  INSERT INTO event_log_bounds (topic, partition, segment_id, first_offset)
    SELECT topic, partition, new_id, next_offset FROM event_log_partitions WHERE topic = for_topic;
  RETURN new_id;
END $$;

-- Makes the partitions of a topic, up to the number asked for; it never takes one away. Growing waits for whoever opens a
-- segment: a partition bound to one that was closed meanwhile would never be read.
CREATE FUNCTION event_log_ensure_topic(for_topic text, partitions integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = tally, pg_temp AS $$
DECLARE
  present integer;
  current_id bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('tally.event_log'), hashtext(for_topic));
  SELECT count(*) INTO present FROM event_log_partitions WHERE topic = for_topic;
  IF present >= partitions THEN
    RETURN;
  END IF;
  IF present = 0 THEN
    current_id := event_log_open_segment(for_topic);
  ELSE
    -- Before the open segment is looked up, and in the order in which appends and new segments take them.
    PERFORM 1 FROM event_log_partitions WHERE topic = for_topic ORDER BY partition FOR UPDATE;
    SELECT segment_id INTO current_id FROM event_log_segments WHERE topic = for_topic AND closed_at IS NULL;
  END IF;
  INSERT INTO event_log_partitions (topic, partition, segment_id)
    SELECT for_topic, n, current_id FROM generate_series(present, partitions - 1) n;
  INSERT INTO event_log_bounds (topic, partition, segment_id, first_offset)
    SELECT for_topic, n, current_id, 0 FROM generate_series(present, partitions - 1) n;
END $$;

CREATE FUNCTION event_log_drop_segment(old_id bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = tally, pg_temp AS $$
BEGIN
  -- Only a closed segment that everyone has read: the caller's judgement is not enough to lose usage.
  IF NOT EXISTS (SELECT 1 FROM event_log_segments WHERE segment_id = old_id AND consumed_at IS NOT NULL) THEN
    RAISE EXCEPTION 'segment % is not consumed', old_id;
  END IF;
  EXECUTE format('DROP TABLE IF EXISTS event_log_segment_%s', old_id);
  DELETE FROM event_log_segments WHERE segment_id = old_id;
END $$;

-- How far a topic of Kafka had been loaded at some time. Kafka counts a record's age from its arrival; the log is kept for
-- a time after it was loaded, so records are deleted up to the newest checkpoint that is old enough, and never before.
CREATE TABLE event_log_checkpoints (
  topic text NOT NULL,
  partition integer NOT NULL,
  log_offset bigint NOT NULL,
  made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (topic, partition, made_at)
);

-- Which event log is in force. A process with other settings would take usage into a log that nobody loads, or load from one
-- that nobody fills, and every number would look right.
CREATE TABLE event_logs (
  id text PRIMARY KEY,              -- where its records lie: see EventLog.id
  in_force_since timestamptz NOT NULL DEFAULT clock_timestamp()
);
