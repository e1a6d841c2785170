-- Which accounts have less than some percent left of what they were granted in a currency, and for how many days is that?
-- Sums of grants would count expired ones: balances has the rule of the API. days_left goes by the last 28 full days.
SELECT
    b.account_id AS account_id,
    a.name AS name,
    b.granted AS granted,
    b.balance AS balance,
    if(u.used_28 > 0, floor(toFloat64(b.balance) * 28 / toFloat64(u.used_28)), NULL) AS days_left
FROM balances AS b
LEFT ANY JOIN accounts AS a ON a.account_id = b.account_id
LEFT ANY JOIN (
    SELECT account_id, sum(quantity) AS used_28
    FROM daily_usage
    WHERE currency = {currency:String} AND day >= today() - 28 AND day < today()
    GROUP BY account_id
) AS u ON u.account_id = b.account_id
WHERE b.currency = {currency:String} AND b.granted > 0 AND b.balance * 100 < b.granted * {percent:UInt8}
ORDER BY balance, account_id
