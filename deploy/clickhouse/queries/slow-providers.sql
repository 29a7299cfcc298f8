-- Which provider is slow: time of a call, and time per output token.
SELECT
  provider,
  model,
  sum(h.calls) AS tries,
  round(100 * sumIf(h.calls, endsWith(type, 'failed')) / sum(h.calls), 1) AS failed_percent,
  round(quantilesTDigestMerge(0.5, 0.95, 0.99)(duration_us)[1] / 1000, 0) AS p50_ms,
  round(quantilesTDigestMerge(0.5, 0.95, 0.99)(duration_us)[2] / 1000, 0) AS p95_ms,
  round(quantilesTDigestMerge(0.5, 0.95, 0.99)(duration_us)[1] / 1000 / greatest(sum(h.tokens_out) / sum(h.calls), 1), 1) AS ms_per_token
FROM longrein.costs_hourly AS h
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND hour >= {since:DateTime} AND hour < {until:DateTime} AND type IN ('model.completed', 'model.failed', 'model.attempt-failed')
GROUP BY provider, model
ORDER BY p95_ms DESC, provider, model
