-- How long tool calls waited before they ran: for the guard, for a free runner. People are another question.
SELECT
  tool,
  count() AS tries,
  round(quantileExact(0.5)(waited_ms), 0) AS p50_ms,
  round(quantileExact(0.95)(waited_ms), 0) AS p95_ms,
  round(max(waited_ms), 0) AS longest_ms,
  round(sum(waited_ms) / 1000, 1) AS waited_seconds
FROM (
  SELECT tool, greatest(dateDiff('millisecond', requested_at, at) - duration_ms, 0) AS waited_ms
  FROM longrein.tool_calls
  WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND at >= {since:DateTime} AND at < {until:DateTime} AND requested_at IS NOT NULL AND status != 'denied'
)
GROUP BY tool
ORDER BY waited_seconds DESC, tool
