-- phase: expand
-- oldest: 0.1.0
-- Deletes up to so many rows of a namespace that was reset. The services' role may delete nothing by itself; this is how
-- it may, and only what no company has any more. The tables are those that have a namespace_id, whichever there are: one
-- that is added later cannot be forgotten. Tables that few refer to come first; where rows are still referred to, those
-- that do so go first, and these with another call.
--
-- Returns how many rows are gone; 0 when none are left.
CREATE FUNCTION empty_namespace(of_namespace uuid, rows_max integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = tally, pg_temp AS $$
DECLARE
  was_in text := coalesce(current_setting('tally.namespace_id', true), '');
  of_table text;
  removed bigint;
  gone bigint := 0;
  are_referred_to boolean := false;
BEGIN
  IF NOT EXISTS (
    SELECT 1 FROM namespaces n JOIN companies c USING (company_id)
    WHERE n.namespace_id = of_namespace AND n.retired_at IS NOT NULL AND c.mode = 'test'
  ) THEN
    RAISE EXCEPTION 'namespace % was not reset', of_namespace;
  END IF;
  PERFORM set_config('tally.namespace_id', of_namespace::text, true);
  FOR of_table IN
    SELECT t.relname FROM pg_class t
      JOIN pg_attribute a ON a.attrelid = t.oid AND a.attname = 'namespace_id' AND NOT a.attisdropped
      WHERE t.relnamespace = 'tally'::regnamespace AND t.relkind IN ('r', 'p') AND NOT t.relispartition
        AND t.relname <> 'namespaces'
      ORDER BY (SELECT count(*) FROM pg_constraint f WHERE f.contype = 'f' AND f.confrelid = t.oid), t.relname
  LOOP
    EXIT WHEN gone >= rows_max;
    BEGIN
      EXECUTE format('DELETE FROM %1$I WHERE ctid = ANY (ARRAY(SELECT ctid FROM %1$I WHERE namespace_id = $1 LIMIT $2))', of_table)
        USING of_namespace, rows_max - gone;
      GET DIAGNOSTICS removed = ROW_COUNT;
      gone := gone + removed;
    EXCEPTION WHEN foreign_key_violation THEN
      are_referred_to := true;
    END;
  END LOOP;
  PERFORM set_config('tally.namespace_id', was_in, true);
  IF gone = 0 AND are_referred_to THEN
    RAISE EXCEPTION 'rows of namespace % refer to each other in a circle', of_namespace;
  END IF;
  RETURN gone;
END $$;

-- A small world that was made up in a namespace, by its seed: what it is made of, and up to when its usage goes, so that
-- to ask for it again makes nothing new.
CREATE TABLE namespace_seeds (
  namespace_id uuid NOT NULL REFERENCES namespaces,
  seed bigint NOT NULL CHECK (seed BETWEEN 0 AND 4294967295),
  up_to timestamptz NOT NULL,
  made jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (namespace_id, seed)
);

ALTER TABLE namespace_seeds ENABLE ROW LEVEL SECURITY;
ALTER TABLE namespace_seeds FORCE ROW LEVEL SECURITY;
CREATE POLICY of_namespace ON namespace_seeds
  USING (namespace_id = nullif(current_setting('tally.namespace_id', true), '')::uuid);
