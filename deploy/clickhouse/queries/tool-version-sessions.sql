-- Which sessions used a tool at a version.
-- @tool String=web.fetch name of the tool
-- @version String= version; empty: any
SELECT
  tenant_id,
  session_id,
  tool_version,
  count() AS tries,
  countIf(status != 'completed') AS not_completed,
  min(at) AS first_at
FROM longrein.tool_calls
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND at >= {since:DateTime} AND at < {until:DateTime} AND tool = {tool:String} AND (tool_version = {version:String} OR {version:String} = '')
GROUP BY tenant_id, session_id, tool_version
ORDER BY first_at, session_id, tool_version
LIMIT 1000
