-- Value against cost of each agent template: what it cost in sessions with a result, and what it brought.
-- The value of a result is shared out among the calls of its session by what they cost.
SELECT
  agent_type,
  count() AS sessions,
  countIf(s.is_result) AS results,
  CAST(sum(c.spent_nano_usd) AS Decimal(38, 9)) / 1000000000 AS cost_usd,
  round(toFloat64(cost_usd) / greatest(results, 1), 6) AS usd_per_result,
  round(sumIf(s.value_nano_usd * c.spent_nano_usd / s.total_nano_usd, s.is_result) / 1e9, 6) AS value_usd,
  round(value_usd / greatest(toFloat64(cost_usd), 0.000000001), 2) AS value_per_usd
FROM (
  SELECT session_key, agent_type, sum(cost_nano_usd) AS spent_nano_usd
  FROM longrein.calls_thin
  WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND at >= {since:DateTime} AND late = 0 AND cost_nano_usd > 0
  GROUP BY session_key, agent_type
) AS c
INNER JOIN (
  SELECT cityHash64(tenant_id, session_id) AS session_key, status = 'completed' AS is_result, value_nano_usd, cost_nano_usd AS total_nano_usd
  FROM longrein.sessions
  WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND opened_at >= {since:DateTime} AND opened_at < {until:DateTime}
) AS s ON c.session_key = s.session_key
GROUP BY agent_type
ORDER BY cost_usd DESC, agent_type
