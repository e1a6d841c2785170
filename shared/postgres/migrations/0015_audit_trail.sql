-- phase: expand
-- oldest: 0.1.0
-- Who did what: an entry for each change, written in its transaction. It is append-only: the services' role may neither
-- change nor delete entries (see migrate.ts). Like keys it belongs to the company and not to a namespace, so that it outlives
-- a reset; row level security finds the company of the namespace that is set.
CREATE TABLE audit_trail (
  entry_id uuid PRIMARY KEY,
  company_id uuid NOT NULL REFERENCES companies,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The key that was used; null: an operator's command. No foreign key: each change would lock the row of its key.
  key_id uuid,
  action text NOT NULL CHECK (action ~ '^[a-z_]+\.[a-z_]+$'),
  resource_id text COLLATE "C" NOT NULL,
  changes jsonb NOT NULL CHECK (jsonb_typeof(changes) = 'object')
);

-- One for each way to list them, newest first.
CREATE INDEX audit_trail_by_time ON audit_trail (company_id, created_at, entry_id);
CREATE INDEX audit_trail_by_resource ON audit_trail (company_id, resource_id, created_at, entry_id);
CREATE INDEX audit_trail_by_key ON audit_trail (company_id, key_id, created_at, entry_id);

ALTER TABLE audit_trail ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_trail FORCE ROW LEVEL SECURITY;
CREATE POLICY of_company ON audit_trail
  USING (company_id = (SELECT n.company_id FROM namespaces n
    WHERE n.namespace_id = nullif(current_setting('tally.namespace_id', true), '')::uuid));
