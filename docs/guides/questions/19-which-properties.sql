-- Which properties do events have, and in how many of the last full days' events is each?
-- JSON functions read nothing beside a number of more than 64 bits, so longer numbers are cut first.
SELECT
    arrayJoin(
        JSONExtractKeys(
            if(
                match(e.properties, '[0-9]{19}'),
                replaceRegexpAll(e.properties, '("(?:[^"\\\\]|\\\\.)*")|([0-9])[0-9]{18,}', '\\1\\2'),
                e.properties
            )
        )
    ) AS property,
    count() AS events,
    uniqExact(e.account_id) AS accounts
FROM events AS e
WHERE e.occurred_at >= today() - {days:UInt16} AND e.occurred_at < today()
GROUP BY property
ORDER BY events DESC, property
