-- Error codes and classes, day by day.
SELECT
  toDate(hour) AS day,
  type,
  error_class,
  error_code,
  sum(errors) AS errors
FROM longrein.costs_hourly
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND hour >= {since:DateTime} AND hour < {until:DateTime} AND error_code != ''
GROUP BY day, type, error_class, error_code
ORDER BY day, errors DESC, type, error_class, error_code
