-- phase: expand
-- oldest: 0.1.0
-- Idempotency-Key headers that were used, per namespace and route, kept without end. A key of a creating request is
-- written in the transaction that creates. A key of reported usage is written before the events go to the log, with the
-- time they take, and marked complete after: a repeat in between takes the same time, and so the same event ids. It must
-- have the same body, by its digest, or else one key could stand for two reports.
CREATE TABLE idempotency_keys (
  namespace_id uuid NOT NULL REFERENCES namespaces,
  route text NOT NULL,
  key text COLLATE "C" NOT NULL CHECK (char_length(key) BETWEEN 1 AND 255),
  first_used_at timestamptz NOT NULL,
  body_digest bytea,
  completed_at timestamptz,
  PRIMARY KEY (namespace_id, route, key)
);

ALTER TABLE idempotency_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE idempotency_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY of_namespace ON idempotency_keys
  USING (namespace_id = nullif(current_setting('tally.namespace_id', true), '')::uuid);
