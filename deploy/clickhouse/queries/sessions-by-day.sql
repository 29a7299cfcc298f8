-- How many sessions a day, how they ended, how long they took.
SELECT
  toDate(assumeNotNull(opened_at)) AS day,
  count() AS sessions,
  countIf(status = 'completed') AS completed,
  countIf(status = 'failed') AS failed,
  countIf(status = 'cancelled') AS cancelled,
  round(quantileExact(0.5)(duration_ms) / 1000, 1) AS p50_seconds,
  round(quantileExact(0.95)(duration_ms) / 1000, 1) AS p95_seconds
FROM longrein.sessions
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND opened_at >= {since:DateTime} AND opened_at < {until:DateTime}
GROUP BY day
ORDER BY day
