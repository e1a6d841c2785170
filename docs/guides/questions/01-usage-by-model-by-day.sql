-- How much of a metric did each model use, on each of the last 30 full days?
-- JSON functions read nothing beside a number of more than 64 bits, so longer numbers are cut first.
SELECT
    JSONExtractString(
        if(
            match(e.properties, '[0-9]{19}'),
            replaceRegexpAll(e.properties, '("(?:[^"\\\\]|\\\\.)*")|([0-9])[0-9]{18,}', '\\1\\2'),
            e.properties
        ),
        'model'
    ) AS model,
    toDate(e.occurred_at) AS day,
    sum(e.quantity) AS quantity,
    count() AS events
FROM events AS e
WHERE e.metric_id = {metric:String} AND e.occurred_at >= today() - 30 AND e.occurred_at < today()
GROUP BY model, day
ORDER BY model, day WITH FILL FROM today() - 30 TO today() STEP 1
