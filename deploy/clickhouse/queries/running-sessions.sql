-- Sessions that have not ended, the quietest first.
SELECT
  tenant_id,
  session_id,
  goal_id,
  opened_at,
  last_at,
  dateDiff('second', last_at, {until:DateTime}) AS quiet_seconds,
  cost_usd
FROM longrein.sessions
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND opened_at < {until:DateTime} AND status = 'running'
ORDER BY quiet_seconds DESC, session_id
LIMIT 1000
