-- phase: expand
-- oldest: 0.1.0
-- What lines of an invoice are called.
CREATE TABLE products (
  namespace_id uuid NOT NULL REFERENCES namespaces,
  product_id text COLLATE "C" NOT NULL CHECK (product_id ~ '^product_[0-9a-f]{32}$'),
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 256),
  description text CHECK (char_length(description) <= 2048),
  external_id text COLLATE "C" CHECK (char_length(external_id) BETWEEN 1 AND 256),
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  archived_at timestamptz,
  PRIMARY KEY (namespace_id, product_id)
);

CREATE UNIQUE INDEX products_external_id ON products (namespace_id, external_id);
CREATE UNIQUE INDEX products_by_creation ON products (namespace_id, created_at, product_id);

ALTER TABLE products ENABLE ROW LEVEL SECURITY;
ALTER TABLE products FORCE ROW LEVEL SECURITY;
CREATE POLICY of_namespace ON products USING (namespace_id = nullif(current_setting('tally.namespace_id', true), '')::uuid);

-- Functions from a quantity to an amount. What was priced stays priced: the services may change nothing but the description,
-- and archive (see migrate.ts).
CREATE TABLE prices (
  namespace_id uuid NOT NULL REFERENCES namespaces,
  price_id text COLLATE "C" NOT NULL CHECK (price_id ~ '^price_[0-9a-f]{32}$'),
  product_id text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL CHECK (currency ~ '^[a-z]{3}$'),
  -- Model and numbers, which are decimal text: JSON's own numbers are doubles to most readers.
  terms jsonb NOT NULL CHECK (jsonb_typeof(terms -> 'model') = 'string'),
  description text CHECK (char_length(description) <= 2048),
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  archived_at timestamptz,
  PRIMARY KEY (namespace_id, price_id),
  CONSTRAINT prices_product FOREIGN KEY (namespace_id, product_id) REFERENCES products
);

CREATE UNIQUE INDEX prices_by_creation ON prices (namespace_id, created_at, price_id);
CREATE INDEX prices_by_product ON prices (namespace_id, product_id, created_at, price_id);

ALTER TABLE prices ENABLE ROW LEVEL SECURITY;
ALTER TABLE prices FORCE ROW LEVEL SECURITY;
CREATE POLICY of_namespace ON prices USING (namespace_id = nullif(current_setting('tally.namespace_id', true), '')::uuid);
