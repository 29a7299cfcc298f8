-- What each tool took: tries, time and money.
SELECT
  tool,
  count() AS tries,
  countIf(status != 'completed') AS not_completed,
  round(sum(duration_ms) / 1000, 1) AS busy_seconds,
  uniqExact(session_id) AS sessions,
  sum(cost_usd) AS cost_usd
FROM longrein.tool_calls
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND at >= {since:DateTime} AND at < {until:DateTime}
GROUP BY tool
ORDER BY busy_seconds DESC, tool
