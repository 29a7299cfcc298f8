-- Tasks that were tried again, and whether it helped.
SELECT
  agent_type,
  error_code,
  count() AS tasks,
  countIf(status = 'completed') AS saved,
  sum(attempts) AS tries,
  sum(cost_usd) AS cost_usd
FROM longrein.tasks
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND scheduled_at >= {since:DateTime} AND scheduled_at < {until:DateTime} AND attempts > 1
GROUP BY agent_type, error_code
ORDER BY tasks DESC, agent_type, error_code
