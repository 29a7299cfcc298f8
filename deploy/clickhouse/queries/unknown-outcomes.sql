-- Tool calls of which nobody saw how they ended: somebody has to look.
SELECT tenant_id, session_id, call_id, tool, agent_type, at
FROM longrein.tool_calls
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND at >= {since:DateTime} AND at < {until:DateTime} AND status = 'unknown'
ORDER BY at DESC, call_id
LIMIT 1000
