-- How long each tool takes.
SELECT
  tool,
  sum(calls) AS tries,
  round(quantilesTDigestMerge(0.5, 0.95, 0.99)(duration_us)[1] / 1000, 0) AS p50_ms,
  round(quantilesTDigestMerge(0.5, 0.95, 0.99)(duration_us)[2] / 1000, 0) AS p95_ms
FROM longrein.costs_hourly
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND hour >= {since:DateTime} AND hour < {until:DateTime} AND type IN ('tool.completed', 'tool.failed')
GROUP BY tool
ORDER BY p95_ms DESC, tool
