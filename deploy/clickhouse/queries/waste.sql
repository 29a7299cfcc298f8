-- Money that brought nothing: failed and cancelled sessions, failed tries, repeated tasks, late answers. The kinds overlap.
SELECT kind, many AS how_many, cost_usd
FROM (
  SELECT 'sessions that failed' AS kind, countIf(status = 'failed') AS many, sumIf(cost_usd, status = 'failed') AS cost_usd
  FROM longrein.sessions WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND opened_at >= {since:DateTime} AND opened_at < {until:DateTime}
  UNION ALL
  SELECT 'sessions that were cancelled', countIf(status = 'cancelled'), sumIf(cost_usd, status = 'cancelled')
  FROM longrein.sessions WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND opened_at >= {since:DateTime} AND opened_at < {until:DateTime}
  UNION ALL
  SELECT 'tries of calls that failed', sum(calls), sum(cost_usd)
  FROM longrein.costs_hourly WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND hour >= {since:DateTime} AND hour < {until:DateTime} AND type IN ('model.failed', 'model.attempt-failed', 'tool.failed')
  UNION ALL
  SELECT 'second and later tries of tasks', sum(calls), sum(cost_usd)
  FROM longrein.costs_hourly WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND hour >= {since:DateTime} AND hour < {until:DateTime} AND again = 1
  UNION ALL
  SELECT 'answers that came too late', count(), sum(cost_usd)
  FROM longrein.late_outcomes WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND at >= {since:DateTime} AND at < {until:DateTime}
)
ORDER BY cost_usd DESC, kind
