-- What each day cost.
SELECT
  toDate(hour) AS day,
  sum(calls) AS tries,
  sum(tokens_in) AS tokens_in,
  sum(tokens_out) AS tokens_out,
  uniqMerge(sessions) AS sessions,
  sum(cost_usd) AS cost_usd
FROM longrein.costs_hourly
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND hour >= {since:DateTime} AND hour < {until:DateTime}
GROUP BY day
ORDER BY day
