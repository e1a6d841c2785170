-- Usage by UTC day, account and source: of days that are closed and unmarked from their rollups, of the others from the events,
-- as the API reads it. What is relied on is read before, and is one value for both halves, so that each day comes from one of
-- them, whatever is closed or marked meanwhile. No join: analysts may set how those are done.
CREATE OR REPLACE VIEW {analytics}.daily_usage DEFINER = CURRENT_USER SQL SECURITY DEFINER AS
WITH
    (
        SELECT (max(epoch), argMax(through, epoch))
        FROM (
            SELECT epoch, toDate(max(closed_through)) AS through
            FROM {database}.rollup_epochs
            GROUP BY epoch
            HAVING max(state) = 1
        )
    ) AS closed,
    (
        SELECT groupUniqArray((toString(namespace_id), toDate(slot)))
        FROM (
            SELECT namespace_id, slot
            FROM {database}.usage_dirty_slots
            WHERE kind < 2
            GROUP BY namespace_id, account_id, kind, slot, insert_id, stage
            HAVING sum(change) > 0
        )
    ) AS marked
SELECT
    namespace_id,
    day,
    account_id,
    if(startsWith(source, 'metric_'), source, NULL) AS metric_id,
    if(startsWith(source, 'metric_'), NULL, source) AS currency,
    quantity,
    events
FROM (
    SELECT namespace_id, day, account_id, source, sum AS quantity, count AS events
    FROM {database}.usage_by_day FINAL
    WHERE epoch = closed.1 AND day < closed.2 AND (namespace_id, day) NOT IN marked AND count > 0
    UNION ALL
    SELECT
        namespace_id,
        toDate(occurred_at) AS day,
        toString(account_id) AS account_id,
        source,
        sum(toDecimal256(e.quantity, 18)) AS quantity,
        count() AS events
    FROM {database}.usage_events AS e FINAL
    PREWHERE toStartOfFiveMinutes(occurred_at) >= toDateTime(arrayMin(arrayPushBack(arrayMap(one -> one.2, marked), closed.2)), 'UTC')
        AND (toDate(occurred_at) >= closed.2 OR (namespace_id, toDate(occurred_at)) IN marked)
    WHERE voided = 0
    GROUP BY namespace_id, day, account_id, source
)
