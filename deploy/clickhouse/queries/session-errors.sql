-- Why sessions fail.
SELECT error_code, count() AS sessions, sum(cost_usd) AS cost_usd, max(ended_at) AS newest
FROM longrein.sessions
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND opened_at >= {since:DateTime} AND opened_at < {until:DateTime} AND status = 'failed'
GROUP BY error_code
ORDER BY sessions DESC, error_code
