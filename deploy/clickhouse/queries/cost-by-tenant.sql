-- What each tenant spent.
SELECT
  tenant_id,
  sum(calls) AS tries,
  sum(errors) AS failed,
  sum(tokens_in) AS tokens_in,
  sum(tokens_out) AS tokens_out,
  sum(cost_usd) AS cost_usd,
  round(100 * sum(cost_nano_usd) / greatest(sum(sum(cost_nano_usd)) OVER (), 1), 1) AS percent
FROM longrein.costs_hourly
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND hour >= {since:DateTime} AND hour < {until:DateTime}
GROUP BY tenant_id
ORDER BY cost_usd DESC, tenant_id
