-- What the month of `until` will cost if the rest of it goes on like its days so far.
WITH
  toStartOfMonth({until:DateTime} - INTERVAL 1 SECOND) AS month,
  toDate({until:DateTime} - INTERVAL 1 SECOND) AS today,
  toDayOfMonth(toLastDayOfMonth(today)) AS days,
  toDayOfMonth(today) AS gone
SELECT
  tenant_id,
  sum(cost_usd) AS spent_usd,
  round(toFloat64(sum(cost_usd)) / gone, 6) AS usd_per_day,
  round(toFloat64(sum(cost_usd)) / gone * days, 6) AS forecast_usd,
  round(toFloat64(sumIf(cost_usd, toDate(hour) > today - 7)) / least(7, gone) * (days - gone) + toFloat64(sum(cost_usd)), 6) AS forecast_by_last_week_usd
FROM longrein.costs_hourly
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND toDate(hour) >= month AND hour < {until:DateTime}
GROUP BY tenant_id
ORDER BY forecast_usd DESC, tenant_id
