-- Value against cost, day by day.
SELECT
  toDate(assumeNotNull(opened_at)) AS day,
  count() AS sessions,
  countIf(status = 'completed') AS results,
  sum(cost_usd) AS cost_usd,
  sumIf(value_usd, status = 'completed') AS value_usd,
  round(sumIf(value_nano_usd, status = 'completed') / greatest(sum(cost_nano_usd), 1), 2) AS value_per_usd
FROM longrein.sessions
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND opened_at >= {since:DateTime} AND opened_at < {until:DateTime}
GROUP BY day
ORDER BY day
