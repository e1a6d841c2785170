-- Keys over HTTP: who gave a key, which key took its place, and when it was last used. A key that was rotated ends at its
-- expires_at as any other does, so whoever authenticates asks one question. A key is rotated once: its successor is unique.
ALTER TABLE api_keys
  ADD COLUMN issued_by uuid,       -- the key that gave it; null: an operator
  ADD COLUMN replaced_by uuid UNIQUE,
  ADD COLUMN last_used_at timestamptz,
  ADD CONSTRAINT api_keys_of_company UNIQUE (company_id, key_id),
  ADD CONSTRAINT api_keys_issued_by FOREIGN KEY (company_id, issued_by) REFERENCES api_keys (company_id, key_id),
  ADD CONSTRAINT api_keys_replaced_by FOREIGN KEY (company_id, replaced_by) REFERENCES api_keys (company_id, key_id);
