-- Before and after a deploy: calls by release.
SELECT
  release,
  if(startsWith(type, 'model.'), 'model', tool) AS what,
  min(hour) AS first_hour,
  sum(calls) AS tries,
  round(100 * sum(errors) / sum(calls), 1) AS failed_percent,
  round(quantilesTDigestMerge(0.5, 0.95, 0.99)(duration_us)[2] / 1000, 0) AS p95_ms,
  round(sum(cost_nano_usd) / 1e9 / sum(calls), 6) AS usd_per_try
FROM longrein.costs_hourly
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND hour >= {since:DateTime} AND hour < {until:DateTime} AND release != ''
GROUP BY release, what
ORDER BY what, release
