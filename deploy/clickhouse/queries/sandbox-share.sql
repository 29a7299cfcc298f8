-- Steps that needed a sandbox and steps that did not, by agent.
-- Groups by a number in place of names, and looks a day further than asked: a step takes less than that.
SELECT
  agent_type,
  count() AS steps,
  countIf(sandbox_runs > 0) AS with_sandbox,
  countIf(tool_calls > 0 AND sandbox_runs = 0) AS with_tools_only,
  countIf(tool_calls = 0) AS without_tools,
  round(100 * countIf(sandbox_runs > 0) / count(), 1) AS sandbox_percent
FROM (
  SELECT
    any(c.agent_type) AS agent_type,
    max(c.at) AS ended_at,
    countIf(startsWith(c.type, 'tool.')) AS tool_calls,
    countIf(c.isolation != '') AS sandbox_runs
  FROM longrein.calls_thin AS c
  WHERE (c.tenant_id = {tenant:String} OR {tenant:String} = '')
    AND c.at >= {since:DateTime} - INTERVAL 1 DAY AND c.at < {until:DateTime} + INTERVAL 1 DAY
    AND c.late = 0 AND c.agent_key != 0
  GROUP BY cityHash64(c.agent_key, c.step)
)
WHERE ended_at >= {since:DateTime} AND ended_at < {until:DateTime}
GROUP BY agent_type
ORDER BY sandbox_percent DESC, agent_type
