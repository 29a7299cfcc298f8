-- What the guard denied.
SELECT tool, error_code, agent_type, count() AS denied, uniqExact(session_id) AS sessions, max(at) AS newest
FROM longrein.tool_calls
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND at >= {since:DateTime} AND at < {until:DateTime} AND status = 'denied'
GROUP BY tool, error_code, agent_type
ORDER BY denied DESC, tool, error_code, agent_type
