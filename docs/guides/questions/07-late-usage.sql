-- Which share of events came later than some hours after they happened, on each of the last 30 full days?
-- An import is late as a whole: what happened before its account was created is counted apart. Other imports look like late usage.
SELECT
    toDate(e.occurred_at) AS day,
    count() AS events,
    countIf(e.occurred_at < a.created_at) AS imported_events,
    countIf(e.occurred_at >= a.created_at AND e.accepted_at > addHours(e.occurred_at, {hours:UInt32})) AS late_events,
    if(events > imported_events, late_events / (events - imported_events), NULL) AS late_share
FROM events AS e
LEFT ANY JOIN accounts AS a ON a.account_id = e.account_id
WHERE e.occurred_at >= today() - 30 AND e.occurred_at < today()
GROUP BY day
ORDER BY day WITH FILL FROM today() - 30 TO today() STEP 1
