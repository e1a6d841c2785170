-- A page of a list costs the same wherever it lies: each filter has an index that is in the list's order. The source of a
-- grant is its metric or its currency. Why a column: under row level security no index serves a condition on
-- coalesce(metric_id, currency), because PostgreSQL does not take coalesce to be leakproof.
ALTER TABLE grants ADD COLUMN source text COLLATE "C" NOT NULL
  GENERATED ALWAYS AS (coalesce(metric_id, currency)) STORED;

CREATE INDEX customers_by_creation ON customers (namespace_id, created_at, customer_id);

DROP INDEX grants_by_account;
CREATE INDEX grants_by_account ON grants (namespace_id, account_id, created_at, grant_id);
CREATE INDEX grants_by_source ON grants (namespace_id, source, created_at, grant_id);
-- It also finds the grants that a balance is made of.
CREATE INDEX grants_by_account_and_source ON grants (namespace_id, account_id, source, created_at, grant_id);
