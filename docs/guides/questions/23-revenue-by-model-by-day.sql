-- What did the usage of each model earn, on each day from one to another?
-- Amounts of several currencies do not add up, and a NULL in value is the usage of all other models together.
SELECT
    day,
    currency,
    ifNull(value, 'all others') AS model,
    sum(exact_amount) AS revenue
FROM rated_usage
WHERE kind = 'usage' AND group_by = 'model' AND day >= {from:Date} AND day <= {to:Date}
GROUP BY day, currency, model
ORDER BY day, currency, model
