-- One row for each view of copied rows and of single events, and one for rated usage, of each namespace that has an account. What is
-- copied or stored later than the query began is of no matter to it, so how far copies and usage reach is one value each, read before.
WITH
    (
        SELECT argMax(up_to, fill)
        FROM (
            SELECT fill, max(complete_up_to) AS up_to
            FROM {database}.dimension_copies
            GROUP BY fill
        )
    ) AS copied,
    (
        SELECT max(complete_up_to)
        FROM {database}.usage_complete
    ) AS stored
SELECT
    namespace_id, -- all companies
    view,
    CAST(
        if(
            view = 'rated_usage',
            if(rated_up_to = 0, NULL, fromUnixTimestamp64Micro(rated_up_to * 1000000, 'UTC')),
            nullIf(if(view IN ('event_changes', 'events'), stored, copied), toDateTime64(0, 6, 'UTC'))
        ),
        'Nullable(DateTime64(6, \'UTC\'))'
    ) AS complete_up_to
FROM (
    SELECT
        namespace_id,
        max(rated) AS rated_up_to,
        arrayJoin(['accounts', 'contract_lines', 'contracts', 'customers', 'event_changes', 'event_revisions', 'events', 'grants', 'metrics', 'prices', 'products', 'rate_cards', 'rated_usage', 'rates']) AS view
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
