-- The events of all days that closed_days leaves out. The first condition is the one that the index of events serves.
    FROM {database}.usage_events AS e FINAL
    PREWHERE toStartOfFiveMinutes(occurred_at) >= toDateTime(arrayMin(arrayPushBack(arrayMap(one -> one.2, marked), complete.2)), 'UTC')
        AND namespace_id = {namespace} -- one company
        AND (toDate(occurred_at) >= complete.2 OR (namespace_id, toDate(occurred_at)) IN marked)
    WHERE voided = 0
