-- How many steps agents take, and what a step costs.
SELECT
  agent_type,
  uniqExact(session_id, agent_id) AS agents,
  count() AS steps,
  round(count() / uniqExact(session_id, agent_id), 1) AS steps_per_agent,
  round(quantileExact(0.5)(duration_ms), 0) AS p50_ms,
  round(quantileExact(0.95)(duration_ms), 0) AS p95_ms,
  round(toFloat64(avg(cost_usd)), 6) AS usd_per_step
FROM longrein.agent_steps
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND ended_at >= {since:DateTime} AND ended_at < {until:DateTime}
GROUP BY agent_type
ORDER BY steps DESC, agent_type
