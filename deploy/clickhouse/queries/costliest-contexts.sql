-- The model calls with the largest contexts.
-- @limit UInt32=20 how many
SELECT tenant_id, session_id, agent_type, step, model, tokens_in, tokens_cache_read, cost_usd, at
FROM longrein.model_calls
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND at >= {since:DateTime} AND at < {until:DateTime}
ORDER BY tokens_in DESC, session_id, call_id
LIMIT {limit:UInt32}
