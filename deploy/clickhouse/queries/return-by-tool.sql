-- Value against cost of each tool: what the steps that called it cost, and what their results brought.
-- A step's money is shared out evenly among the tool calls that it made; a result's value goes with the money.
SELECT
  tool,
  count() AS tries,
  uniqExactIf(t.session_key, s.is_result) AS results,
  round(sum(t.call_nano_usd) / 1e9, 6) AS cost_usd,
  round(cost_usd / greatest(results, 1), 6) AS usd_per_result,
  round(sumIf(s.value_nano_usd * t.call_nano_usd / greatest(s.total_nano_usd, 1), s.is_result) / 1e9, 6) AS value_usd,
  round(value_usd / greatest(cost_usd, 0.000000001), 2) AS value_per_usd
FROM (
  SELECT
    any(c.session_key) AS session_key,
    groupArrayIf(c.tool, startsWith(c.type, 'tool.')) AS tools,
    sum(c.cost_nano_usd) / length(tools) AS call_nano_usd
  FROM longrein.calls_thin AS c
  WHERE (c.tenant_id = {tenant:String} OR {tenant:String} = '') AND c.at >= {since:DateTime} AND c.late = 0
  GROUP BY cityHash64(if(c.agent_key = 0, c.session_key, c.agent_key), c.step)
  HAVING notEmpty(tools)
) AS t
INNER JOIN (
  SELECT cityHash64(tenant_id, session_id) AS session_key, status = 'completed' AS is_result, value_nano_usd, cost_nano_usd AS total_nano_usd
  FROM longrein.sessions
  WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND opened_at >= {since:DateTime} AND opened_at < {until:DateTime}
) AS s ON t.session_key = s.session_key
ARRAY JOIN t.tools AS tool
GROUP BY tool
ORDER BY cost_usd DESC, tool
