-- One row for each view of copied rows, of each namespace that has an account. What is copied later than the query began is of no
-- matter to it, so how far copies reach is one value, read before.
WITH
    (
        SELECT argMax(up_to, fill)
        FROM (
            SELECT fill, max(complete_up_to) AS up_to
            FROM {database}.dimension_copies
            GROUP BY fill
        )
    ) AS up_to
SELECT
    namespace_id, -- all companies
    arrayJoin(['accounts', 'contract_lines', 'contracts', 'customers', 'event_revisions', 'grants', 'metrics', 'prices', 'products', 'rate_cards', 'rates']) AS view,
    CAST(if(toUnixTimestamp64Micro(up_to) = 0, NULL, up_to), 'Nullable(DateTime64(6, \'UTC\'))') AS complete_up_to
FROM (
    SELECT DISTINCT namespace_id
    FROM {database}.dimension_accounts
    WHERE namespace_id = {namespace} -- one company
)
