-- Spending hour by hour, for charts.
SELECT hour, sum(cost_usd) AS cost_usd, sum(calls) AS tries
FROM longrein.costs_hourly
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND hour >= {since:DateTime} AND hour < {until:DateTime}
GROUP BY hour
ORDER BY hour
