-- Runs in sandboxes: how many, how they ended, how long they took.
SELECT
  isolation,
  tool,
  count() AS runs,
  countIf(status = 'failed') AS failed,
  round(quantileExact(0.5)(duration_ms), 0) AS p50_ms,
  round(quantileExact(0.95)(duration_ms), 0) AS p95_ms
FROM longrein.sandbox_runs
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND at >= {since:DateTime} AND at < {until:DateTime}
GROUP BY isolation, tool
ORDER BY runs DESC, isolation, tool
