-- Which usage from one day to another does no rate cover, and of which accounts is it?
-- Only time in which a contract follows a rate card is looked at: usage of accounts without a contract is not here.
SELECT
    u.account_id AS account_id,
    a.name AS account,
    coalesce(nullIf(m.name, ''), u.metric_id, u.usage_currency) AS metric_or_currency,
    u.used AS quantity,
    u.counted AS event_count,
    u.first_day AS first_day,
    u.last_day AS last_day
FROM (
    SELECT
        account_id,
        metric_id,
        usage_currency,
        sum(quantity) AS used,
        sum(events) AS counted,
        min(day) AS first_day,
        max(day) AS last_day
    FROM rated_usage
    WHERE is_unrated AND day >= {from:Date} AND day <= {to:Date}
    GROUP BY account_id, metric_id, usage_currency
) AS u
LEFT ANY JOIN accounts AS a ON a.account_id = u.account_id
LEFT ANY JOIN metrics AS m ON m.metric_id = u.metric_id
ORDER BY account_id, metric_or_currency
