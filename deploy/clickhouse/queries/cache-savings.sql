-- What the providers' caches saved. Prices are not stored: give what a million input tokens cost and what a cached one costs of that.
-- @usd_per_million Float64=1 price of a million input tokens
-- @cached_share Float64=0.1 price of a cached token, as a share of that
SELECT
  provider,
  model,
  sum(h.tokens_in) AS tokens_in,
  sum(h.tokens_cache_read) AS tokens_cached,
  round(100 * sum(h.tokens_cache_read) / greatest(sum(h.tokens_in), 1), 1) AS cached_percent,
  round(sum(h.tokens_cache_read) / 1e6 * {usd_per_million:Float64} * (1 - {cached_share:Float64}), 4) AS saved_usd
FROM longrein.costs_hourly AS h
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND hour >= {since:DateTime} AND hour < {until:DateTime} AND startsWith(type, 'model.')
GROUP BY provider, model
ORDER BY tokens_cached DESC, provider, model
