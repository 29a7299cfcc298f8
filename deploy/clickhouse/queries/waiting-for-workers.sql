-- How long tasks wait for a worker, by pool.
SELECT
  pool,
  sum(tasks) AS tasks,
  sum(abandoned) AS abandoned,
  sum(retries) AS retries,
  round(max(waited_ms_p50), 0) AS worst_p50_ms,
  round(max(waited_ms_p95), 0) AS worst_p95_ms,
  round(sum(busy_ms) / 3600000, 2) AS busy_hours
FROM longrein.pool_load
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND hour >= {since:DateTime} AND hour < {until:DateTime}
GROUP BY pool
ORDER BY worst_p95_ms DESC, pool
