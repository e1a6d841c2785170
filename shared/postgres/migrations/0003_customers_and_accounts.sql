-- phase: expand
-- oldest: 0.1.0
-- Ids are text as the API shows them, compared byte by byte. Foreign keys carry the namespace, so that a row can never
-- refer to another namespace's.
CREATE TABLE customers (
  namespace_id uuid NOT NULL REFERENCES namespaces,
  customer_id uuid NOT NULL,
  name text NOT NULL CHECK (char_length(name) <= 256),
  -- The name without case, as shared/domain/sort-name.ts folds it.
  sort_name text COLLATE "C" NOT NULL,
  external_id text COLLATE "C" CHECK (char_length(external_id) <= 256),
  payments_customer_id text CHECK (char_length(payments_customer_id) <= 256),
  accounting_customer_id uuid,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (namespace_id, customer_id)
);

CREATE UNIQUE INDEX customers_external_id ON customers (namespace_id, external_id);
CREATE INDEX customers_by_creation ON customers (namespace_id, created_at, customer_id);

CREATE TABLE accounts (
  namespace_id uuid NOT NULL REFERENCES namespaces,
  account_id text COLLATE "C" NOT NULL CHECK (account_id ~ '^account_[0-9a-f]{32}$'),
  external_id text COLLATE "C" CHECK (char_length(external_id) <= 256),
  customer_id uuid,
  name text NOT NULL CHECK (char_length(name) <= 256),
  description text CHECK (char_length(description) <= 2048),
  sort_name text COLLATE "C" NOT NULL,
  -- '0' and the customer's sort_name, or '1' without a customer: one index serves the list by customer name, with
  -- accounts without a customer last.
  customer_sort_name text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  archived_at timestamptz,
  PRIMARY KEY (namespace_id, account_id),
  CONSTRAINT accounts_customer FOREIGN KEY (namespace_id, customer_id) REFERENCES customers
);

CREATE UNIQUE INDEX accounts_external_id ON accounts (namespace_id, external_id);
CREATE INDEX accounts_by_creation ON accounts (namespace_id, created_at, account_id);
CREATE INDEX accounts_by_customer ON accounts (namespace_id, customer_id);
CREATE INDEX accounts_by_customer_name ON accounts (namespace_id, customer_sort_name, sort_name, account_id);

ALTER TABLE customers ENABLE ROW LEVEL SECURITY;
ALTER TABLE customers FORCE ROW LEVEL SECURITY;
CREATE POLICY of_namespace ON customers USING (namespace_id = nullif(current_setting('tally.namespace_id', true), '')::uuid);

ALTER TABLE accounts ENABLE ROW LEVEL SECURITY;
ALTER TABLE accounts FORCE ROW LEVEL SECURITY;
CREATE POLICY of_namespace ON accounts USING (namespace_id = nullif(current_setting('tally.namespace_id', true), '')::uuid);
