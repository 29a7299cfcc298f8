-- Agents that asked for the same tool with the same arguments again and again.
-- Reads whole events: may take seconds over many days.
-- @times UInt32=5 how often, at least
SELECT
  tenant_id,
  session_id,
  tool,
  JSONExtractString(data, 'argumentsDigest') AS arguments_digest,
  count() AS times,
  any(agent_type) AS agent_type
FROM longrein.events
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND at >= {since:DateTime} AND at < {until:DateTime} AND effective = 1 AND type = 'tool.permitted'
GROUP BY tenant_id, session_id, tool, arguments_digest
HAVING times >= {times:UInt32}
ORDER BY times DESC, session_id, tool
LIMIT 100
