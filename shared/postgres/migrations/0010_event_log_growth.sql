-- Growing waits for whoever opens a segment: a partition bound to one that was closed meanwhile would never be read.
CREATE OR REPLACE FUNCTION event_log_ensure_topic(for_topic text, partitions integer) RETURNS void
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
