-- How long model calls, tool calls and sandbox runs take.
SELECT
  multiIf(startsWith(type, 'model.'), 'model', isolation != '', 'sandbox', 'tool') AS kind,
  sum(calls) AS tries,
  round(quantilesTDigestMerge(0.5, 0.95, 0.99)(duration_us)[1] / 1000, 0) AS p50_ms,
  round(quantilesTDigestMerge(0.5, 0.95, 0.99)(duration_us)[2] / 1000, 0) AS p95_ms,
  round(quantilesTDigestMerge(0.5, 0.95, 0.99)(duration_us)[3] / 1000, 0) AS p99_ms
FROM longrein.costs_hourly
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND hour >= {since:DateTime} AND hour < {until:DateTime} AND type IN ('model.completed', 'model.failed', 'model.attempt-failed', 'tool.completed', 'tool.failed')
GROUP BY kind
ORDER BY kind
