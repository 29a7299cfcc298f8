-- The sessions that cost most.
-- @limit UInt32=20 how many
SELECT tenant_id, session_id, goal_id, status, model_calls, tool_calls, cost_usd, value_usd
FROM longrein.sessions
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND opened_at >= {since:DateTime} AND opened_at < {until:DateTime}
ORDER BY cost_usd DESC, session_id
LIMIT {limit:UInt32}
