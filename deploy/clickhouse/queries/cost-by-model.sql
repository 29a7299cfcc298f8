-- What each model cost.
SELECT
  provider,
  model,
  sum(h.calls) AS tries,
  sum(h.tokens_in) AS tokens_in,
  sum(h.tokens_out) AS tokens_out,
  sum(cost_usd) AS cost_usd,
  round(sum(h.cost_nano_usd) / 1e9 / greatest(sum(h.calls), 1), 6) AS usd_per_try,
  round(sum(h.cost_nano_usd) / 1e3 / greatest(sum(h.tokens_in + h.tokens_out), 1), 3) AS usd_per_million_tokens
FROM longrein.costs_hourly AS h
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND hour >= {since:DateTime} AND hour < {until:DateTime} AND startsWith(type, 'model.')
GROUP BY provider, model
ORDER BY cost_usd DESC, provider, model
