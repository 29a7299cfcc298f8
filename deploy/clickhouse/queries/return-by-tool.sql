-- Value against cost of each tool: what the steps that called it cost, and what their results brought.
-- A step's money is shared out evenly among the tool calls that it made; a result's value goes with the money.
SELECT
  t.tool AS tool,
  sum(t.tries) AS tries,
  uniqExactIf((t.tenant_id, t.session_id), s.is_result) AS results,
  round(sum(t.cost_nano_usd) / 1e9, 6) AS cost_usd,
  round(cost_usd / greatest(results, 1), 6) AS usd_per_result,
  round(sumIf(s.value_nano_usd * t.cost_nano_usd / greatest(s.total_nano_usd, 1), s.is_result) / 1e9, 6) AS value_usd,
  round(value_usd / greatest(cost_usd, 0.000000001), 2) AS value_per_usd
FROM (
  SELECT tenant_id, session_id, tool, count() AS tries, sum(step_nano_usd / step_tools) AS cost_nano_usd
  FROM (
    SELECT
      c.tenant_id AS tenant_id,
      c.session_id AS session_id,
      arrayJoin(groupArrayIf(toString(c.tool), startsWith(c.type, 'tool.'))) AS tool,
      sum(c.cost_nano_usd) AS step_nano_usd,
      countIf(startsWith(c.type, 'tool.')) AS step_tools
    FROM longrein.calls_thin AS c
    WHERE (c.tenant_id = {tenant:String} OR {tenant:String} = '') AND c.at >= {since:DateTime} AND c.late = 0
    GROUP BY tenant_id, session_id, c.agent_id, c.step
  )
  GROUP BY tenant_id, session_id, tool
) AS t
INNER JOIN (
  SELECT tenant_id, session_id, status = 'completed' AS is_result, value_nano_usd, cost_nano_usd AS total_nano_usd
  FROM longrein.sessions
  WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND opened_at >= {since:DateTime} AND opened_at < {until:DateTime}
) AS s ON t.tenant_id = s.tenant_id AND t.session_id = s.session_id
GROUP BY tool
ORDER BY cost_usd DESC, tool
