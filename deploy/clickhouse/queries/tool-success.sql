-- Success by tool and version.
SELECT
  tool,
  tool_version,
  sum(calls) AS tries,
  sumIf(calls, type = 'tool.completed') AS completed,
  sumIf(calls, type = 'tool.failed') AS failed,
  sumIf(calls, type = 'tool.denied') AS denied,
  sumIf(calls, type = 'tool.unknown') AS unknown,
  round(100 * sumIf(calls, type = 'tool.completed') / sum(calls), 1) AS success_percent
FROM longrein.costs_hourly
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND hour >= {since:DateTime} AND hour < {until:DateTime} AND startsWith(type, 'tool.')
GROUP BY tool, tool_version
ORDER BY success_percent, tool, tool_version
