-- phase: expand
-- oldest: 0.1.0
-- What usage is measured in, beside currencies (which need no row: any three letters are one).
CREATE TABLE metrics (
  namespace_id uuid NOT NULL REFERENCES namespaces,
  metric_id text COLLATE "C" NOT NULL CHECK (metric_id ~ '^metric_[0-9a-f]{32}$'),
  external_id text COLLATE "C" CHECK (char_length(external_id) BETWEEN 1 AND 256),
  name text NOT NULL CHECK (char_length(name) <= 256),
  description text NOT NULL CHECK (char_length(description) <= 2048),
  measurement_units text NOT NULL CHECK (char_length(measurement_units) <= 256),
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  archived_at timestamptz,
  PRIMARY KEY (namespace_id, metric_id)
);

-- NULLs are distinct: a metric need not have one.
CREATE UNIQUE INDEX metrics_external_id ON metrics (namespace_id, external_id);
CREATE UNIQUE INDEX metrics_by_creation ON metrics (namespace_id, created_at, metric_id);

ALTER TABLE metrics ENABLE ROW LEVEL SECURITY;
ALTER TABLE metrics FORCE ROW LEVEL SECURITY;
CREATE POLICY of_namespace ON metrics USING (namespace_id = nullif(current_setting('tally.namespace_id', true), '')::uuid);
