-- Steps that needed a sandbox and steps that did not, by agent.
SELECT
  agent_type,
  count() AS steps,
  countIf(sandbox_runs > 0) AS with_sandbox,
  countIf(tool_calls > 0 AND sandbox_runs = 0) AS with_tools_only,
  countIf(tool_calls = 0) AS without_tools,
  round(100 * countIf(sandbox_runs > 0) / count(), 1) AS sandbox_percent
FROM longrein.agent_steps
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND ended_at >= {since:DateTime} AND ended_at < {until:DateTime}
GROUP BY agent_type
ORDER BY sandbox_percent DESC, agent_type
