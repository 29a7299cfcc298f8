-- How sessions of each lane and plan end, and what they cost.
SELECT
  lane,
  plan,
  count() AS sessions,
  round(100 * countIf(status = 'completed') / count(), 1) AS completed_percent,
  round(quantileExact(0.5)(duration_ms) / 1000, 1) AS p50_seconds,
  round(toFloat64(avg(cost_usd)), 6) AS usd_per_session
FROM longrein.sessions
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND opened_at >= {since:DateTime} AND opened_at < {until:DateTime}
GROUP BY lane, plan
ORDER BY sessions DESC, lane, plan
