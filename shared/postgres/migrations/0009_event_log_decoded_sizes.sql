-- How many bytes a value has once it is decoded: readers bound what they take by it, for gzip may hide a hundredfold.
DO $$
DECLARE
  id bigint;
BEGIN
  FOR id IN SELECT segment_id FROM event_log_segments LOOP
    EXECUTE format('ALTER TABLE event_log_segment_%s ADD COLUMN decoded_size integer', id);
    -- gzip's last four bytes are the size of what it packed, lowest byte first.
    EXECUTE format('UPDATE event_log_segment_%s SET decoded_size = CASE encoding WHEN 0 THEN size ELSE
        get_byte(value, size - 4) + (get_byte(value, size - 3) << 8)
        + (get_byte(value, size - 2) << 16) + (get_byte(value, size - 1) << 24) END', id);
    EXECUTE format('ALTER TABLE event_log_segment_%s ALTER COLUMN decoded_size SET NOT NULL', id);
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION event_log_open_segment(for_topic text) RETURNS bigint
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
      decoded_size integer NOT NULL,       -- bytes of what it holds
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

-- Appends records to several partitions: all of them, or none. The values lie end to end in `body`.
DROP FUNCTION event_log_append(text, integer[], bigint[], smallint[], integer[], bytea);
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
