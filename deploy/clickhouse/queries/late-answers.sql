-- Answers that came too late, and what they cost.
SELECT provider, model, tool, count() AS answers, sum(cost_usd) AS cost_usd, max(at) AS newest
FROM longrein.late_outcomes
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND at >= {since:DateTime} AND at < {until:DateTime}
GROUP BY provider, model, tool
ORDER BY cost_usd DESC, provider, model, tool
