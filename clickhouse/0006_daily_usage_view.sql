-- Usage by UTC day, account and source.
CREATE OR REPLACE VIEW {analytics}.daily_usage DEFINER = CURRENT_USER SQL SECURITY DEFINER AS
SELECT
    namespace_id,
    toDate(occurred_at) AS day,
    account_id,
    metric_id,
    currency,
    sum(quantity) AS quantity,
    count() AS events
FROM {analytics}.events
GROUP BY namespace_id, day, account_id, metric_id, currency
