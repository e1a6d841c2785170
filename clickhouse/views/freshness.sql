-- One row for each view of copied rows, and one for rated usage, of each namespace that has an account. What is copied later than the
-- query began is of no matter to it, so how far copies reach is one value, read before.
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
    view,
    CAST(
        if(
            view = 'rated_usage',
            if(rated_up_to = 0, NULL, fromUnixTimestamp64Micro(rated_up_to * 1000000, 'UTC')),
            if(toUnixTimestamp64Micro(up_to) = 0, NULL, up_to)
        ),
        'Nullable(DateTime64(6, \'UTC\'))'
    ) AS complete_up_to
FROM (
    SELECT
        namespace_id,
        max(rated) AS rated_up_to,
        arrayJoin(['accounts', 'contract_lines', 'contracts', 'customers', 'event_revisions', 'grants', 'metrics', 'prices', 'products', 'rate_cards', 'rated_usage', 'rates']) AS view
    FROM (
        SELECT DISTINCT namespace_id, toInt64(0) AS rated, 1 AS has_account
        FROM {database}.dimension_accounts
        WHERE namespace_id = {namespace} -- one company
        UNION ALL
        SELECT namespace_id, complete_up_to AS rated, 0 AS has_account
        FROM {database}.rating_runs
        WHERE namespace_id = {namespace} -- one company
    )
    GROUP BY namespace_id
    HAVING max(has_account) = 1
)
