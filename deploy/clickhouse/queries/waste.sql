-- Money that brought nothing: failed and cancelled sessions, failed tries, repeated tasks, late answers. The kinds overlap.
SELECT kind, many AS how_many, cost_usd
FROM (
  SELECT wasted.1 AS kind, wasted.2 AS many, wasted.3 AS cost_usd
  FROM (
    SELECT
      countIf(status = 'failed') AS failed, sumIf(cost_usd, status = 'failed') AS failed_usd,
      countIf(status = 'cancelled') AS cancelled, sumIf(cost_usd, status = 'cancelled') AS cancelled_usd
    FROM longrein.sessions WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND opened_at >= {since:DateTime} AND opened_at < {until:DateTime}
  )
  ARRAY JOIN [
    ('sessions that failed', failed, failed_usd), ('sessions that were cancelled', cancelled, cancelled_usd)
  ] AS wasted
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
