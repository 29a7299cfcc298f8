-- Value against cost for each value of a label.
-- @label String=cost_centre name of the label
SELECT
  labels[{label:String}] AS value,
  count() AS sessions,
  countIf(status = 'completed') AS results,
  sum(cost_usd) AS cost_usd,
  round(toFloat64(cost_usd) / greatest(countIf(status = 'completed'), 1), 6) AS usd_per_result,
  sumIf(value_usd, status = 'completed') AS value_usd,
  round(sumIf(value_nano_usd, status = 'completed') / greatest(sum(cost_nano_usd), 1), 2) AS value_per_usd
FROM longrein.sessions
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND opened_at >= {since:DateTime} AND opened_at < {until:DateTime}
GROUP BY value
ORDER BY cost_usd DESC, value
