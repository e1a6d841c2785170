-- phase: expand
-- oldest: 0.1.0
-- Account keys that ended a month ago are deleted when another one is issued: a company that issues one for each visit would
-- otherwise keep one for each visit for ever.
CREATE INDEX api_keys_of_accounts_by_end ON api_keys (company_id, expires_at) WHERE account_id IS NOT NULL;

-- What may refer to a key, which each deletion looks up.
CREATE INDEX api_keys_by_replacement ON api_keys (replaced_by, company_id) WHERE replaced_by IS NOT NULL;
CREATE INDEX api_keys_by_issuer ON api_keys (issued_by, company_id) WHERE issued_by IS NOT NULL;
CREATE INDEX event_revisions_by_key ON event_revisions (key_id) WHERE key_id IS NOT NULL;

-- The services' role may delete no key, and so only these. A key that another one replaced ended first, and goes first. Locked
-- rows are left to the next time; ten, because many may have ended since the last time.
CREATE FUNCTION delete_ended_account_keys(of_company uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = tally, pg_temp AS $$
  DELETE FROM api_keys WHERE key_id IN (
    SELECT key_id FROM api_keys ended
    WHERE company_id = of_company AND account_id IS NOT NULL AND expires_at < clock_timestamp() - interval '31 days'
      AND NOT EXISTS (SELECT FROM api_keys old WHERE old.replaced_by = ended.key_id)
    ORDER BY expires_at LIMIT 10 FOR UPDATE SKIP LOCKED)
$$;
