-- How many steps agents take, and what a step costs.
-- Groups by a number in place of names, and looks a day further than asked: a step takes less than that.
SELECT
  agent_type,
  uniqExact(agent) AS agents,
  count() AS steps,
  round(count() / uniqExact(agent), 1) AS steps_per_agent,
  round(quantileExact(0.5)(duration_ms), 0) AS p50_ms,
  round(quantileExact(0.95)(duration_ms), 0) AS p95_ms,
  round(toFloat64(sum(cost_nano_usd)) / count() / 1000000000, 6) AS usd_per_step
FROM (
  SELECT
    any(c.agent_type) AS agent_type,
    any(c.agent_key) AS agent,
    max(c.at) AS ended_at,
    dateDiff('millisecond', minOrNullIf(c.requested_at, c.requested_at > 0), ended_at) AS duration_ms,
    sum(c.cost_nano_usd) AS cost_nano_usd
  FROM longrein.calls_thin AS c
  WHERE (c.tenant_id = {tenant:String} OR {tenant:String} = '')
    AND c.at >= {since:DateTime} - INTERVAL 1 DAY AND c.at < {until:DateTime} + INTERVAL 1 DAY
    AND c.late = 0 AND c.agent_key != 0
  GROUP BY cityHash64(c.agent_key, c.step)
)
WHERE ended_at >= {since:DateTime} AND ended_at < {until:DateTime}
GROUP BY agent_type
ORDER BY steps DESC, agent_type
