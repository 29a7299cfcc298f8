-- Which price lists money was counted with.
SELECT price_version, provider, model, count() AS tries, sum(cost_usd) AS cost_usd, min(at) AS first_at, max(at) AS last_at
FROM longrein.model_calls
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND at >= {since:DateTime} AND at < {until:DateTime}
GROUP BY price_version, provider, model
ORDER BY cost_usd DESC, price_version, provider, model
