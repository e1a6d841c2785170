-- phase: expand
-- oldest: 0.1.0
-- Reads of many callers in one round trip. Each function goes from namespace to namespace, and in each sees the rows of that one
-- alone, as row level security has it. nth says which of the reads a row answers, counted from 1.

-- Accounts by id, in no order. Those that do not exist are absent.
CREATE FUNCTION find_accounts(namespace_ids uuid[], account_ids text[])
RETURNS SETOF accounts
LANGUAGE plpgsql AS $$
DECLARE
  was_in text := coalesce(current_setting('tally.namespace_id', true), '');
  of_namespace uuid;
BEGIN
  FOR of_namespace IN SELECT DISTINCT unnest(namespace_ids) LOOP
    PERFORM set_config('tally.namespace_id', of_namespace::text, true);
    RETURN QUERY
      SELECT a.* FROM unnest(namespace_ids, account_ids) AS asked (namespace_id, account_id)
      JOIN accounts a ON a.namespace_id = of_namespace AND a.account_id = asked.account_id
      WHERE asked.namespace_id = of_namespace;
  END LOOP;
  PERFORM set_config('tally.namespace_id', was_in, true);
END $$;

-- What of one metric or currency is granted to an account and in force at an instant, and whether there are such an account
-- and such a metric; a currency needs no row.
CREATE FUNCTION sum_grants(namespace_ids uuid[], account_ids text[], sources text[], instants timestamptz[])
RETURNS TABLE (nth bigint, has_account boolean, has_source boolean, total numeric)
LANGUAGE plpgsql AS $$
DECLARE
  was_in text := coalesce(current_setting('tally.namespace_id', true), '');
  of_namespace uuid;
BEGIN
  FOR of_namespace IN SELECT DISTINCT unnest(namespace_ids) LOOP
    PERFORM set_config('tally.namespace_id', of_namespace::text, true);
    RETURN QUERY
      SELECT asked.nth,
        EXISTS (SELECT FROM accounts a WHERE a.namespace_id = of_namespace AND a.account_id = asked.account_id),
        asked.source !~ '^metric_'
          OR EXISTS (SELECT FROM metrics m WHERE m.namespace_id = of_namespace AND m.metric_id = asked.source),
        (SELECT coalesce(sum(g.amount), 0) FROM grants g
          WHERE g.namespace_id = of_namespace AND g.account_id = asked.account_id AND g.source = asked.source
            AND is_in_force(g, asked.instant))
      FROM unnest(namespace_ids, account_ids, sources, instants)
        WITH ORDINALITY AS asked (namespace_id, account_id, source, instant, nth)
      WHERE asked.namespace_id = of_namespace;
  END LOOP;
  PERFORM set_config('tally.namespace_id', was_in, true);
END $$;

-- The same by every metric and currency that an account was ever granted. An account without grants has one row, without a source; one that
-- does not exist has none.
CREATE FUNCTION sum_grants_by_source(namespace_ids uuid[], account_ids text[], instants timestamptz[])
RETURNS TABLE (nth bigint, source text, total numeric)
LANGUAGE plpgsql AS $$
DECLARE
  was_in text := coalesce(current_setting('tally.namespace_id', true), '');
  of_namespace uuid;
BEGIN
  FOR of_namespace IN SELECT DISTINCT unnest(namespace_ids) LOOP
    PERFORM set_config('tally.namespace_id', of_namespace::text, true);
    RETURN QUERY
      SELECT asked.nth, g.source,
        coalesce(sum(g.amount) FILTER (WHERE is_in_force(g, asked.instant)), 0)
      FROM unnest(namespace_ids, account_ids, instants)
        WITH ORDINALITY AS asked (namespace_id, account_id, instant, nth)
      JOIN accounts a ON a.namespace_id = of_namespace AND a.account_id = asked.account_id
      LEFT JOIN grants g ON g.namespace_id = of_namespace AND g.account_id = asked.account_id
      WHERE asked.namespace_id = of_namespace
      GROUP BY asked.nth, g.source;
  END LOOP;
  PERFORM set_config('tally.namespace_id', was_in, true);
END $$;

-- The ids of the metrics of each namespace that are active, in order of creation.
CREATE FUNCTION active_metrics(namespace_ids uuid[])
RETURNS TABLE (nth bigint, metric_ids text[])
LANGUAGE plpgsql AS $$
DECLARE
  was_in text := coalesce(current_setting('tally.namespace_id', true), '');
  of_namespace uuid;
BEGIN
  nth := 0;
  FOREACH of_namespace IN ARRAY namespace_ids LOOP
    nth := nth + 1;
    PERFORM set_config('tally.namespace_id', of_namespace::text, true);
    RETURN QUERY
      SELECT nth, coalesce(array_agg(m.metric_id ORDER BY m.created_at, m.metric_id), '{}') FROM metrics m
      WHERE m.namespace_id = of_namespace AND m.archived_at IS NULL;
  END LOOP;
  PERFORM set_config('tally.namespace_id', was_in, true);
END $$;
