-- phase: expand
-- oldest: 0.1.0
-- What a search finds accounts and customers by: their name, their external id and the name of an account's customer, each without case.
-- The text is made of columns that are kept anyway, so that it is never older than they are. U+FFFF is no character of any text; it
-- stands between the names, so that nothing is found across two of them.

-- Letters that lower case leaves different although readers take them for the same; shared/domain/search-text.ts does this to what is
-- searched for.
CREATE FUNCTION search_form(sort_name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT replace(replace(replace(replace(sort_name, U&'\00DF', 'ss'), U&'\03C2', U&'\03C3'), U&'\0131', 'i'), U&'i\0307', 'i')
$$;

-- The external id without case, as shared/domain/sort-name.ts folds it; of what is there already as this database does.
ALTER TABLE customers ADD COLUMN sort_external_id text COLLATE "C";
ALTER TABLE customers ALTER COLUMN sort_external_id TYPE text COLLATE "C"
  USING lower(normalize(external_id, NFC) COLLATE "default");
ALTER TABLE customers ADD COLUMN search_text text COLLATE "C" NOT NULL
  GENERATED ALWAYS AS (search_form(sort_name || U&'\FFFF' || coalesce(sort_external_id, ''))) STORED;

ALTER TABLE accounts ADD COLUMN sort_external_id text COLLATE "C";
ALTER TABLE accounts ALTER COLUMN sort_external_id TYPE text COLLATE "C"
  USING lower(normalize(external_id, NFC) COLLATE "default");
ALTER TABLE accounts ADD COLUMN search_text text COLLATE "C" NOT NULL
  GENERATED ALWAYS AS (search_form(
    sort_name || U&'\FFFF' || coalesce(sort_external_id, '') || U&'\FFFF' || substr(customer_sort_name, 2))) STORED;

-- The accounts of a customer in order of creation.
DROP INDEX accounts_by_customer;
CREATE INDEX accounts_by_customer ON accounts (namespace_id, customer_id, created_at, account_id);
