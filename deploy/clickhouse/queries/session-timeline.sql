-- Everything that happened in one session, in order.
-- @session String the session
SELECT k_offset, event_index, at, service, type, task_id, agent_id, call_id, tool, model, error_code, cost_nano_usd, effective
FROM longrein.events
WHERE tenant_id = {tenant:String} AND session_id = {session:String}
ORDER BY tenant_id, session_id, k_topic, k_partition, k_offset, event_index
