-- Which days are read from rollups: the epoch in use, the day before which its days are closed, and the days among them that
-- are marked, each with its namespace. It is one value, read before the usage: each day comes either from rollups or from
-- events, whatever is closed or marked while a query runs.
SELECT (max(epoch), argMax(through, epoch), groupUniqArrayArray(marked))
FROM (
    SELECT epoch, toDate(max(closed_through)) AS through, CAST([], 'Array(Tuple(String, Date))') AS marked
    FROM {database}.rollup_epochs
    GROUP BY epoch
    HAVING max(state) = 1
    UNION ALL
    SELECT 0 AS epoch, toDate(0) AS through, groupUniqArray((toString(namespace_id), toDate(slot))) AS marked
    FROM (
        SELECT namespace_id, slot
        FROM {database}.usage_dirty_slots
        WHERE kind < 2
            AND namespace_id = {namespace} -- one company
        GROUP BY namespace_id, account_id, kind, slot, insert_id, stage
        HAVING sum(change) > 0
    )
)
