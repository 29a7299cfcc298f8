-- How long agents waited for people, and for whom. What is open counts up to now.
SELECT
  about,
  agent_type,
  asked_of,
  count() AS questions,
  countIf(status = 'open') AS open,
  countIf(status = 'answered') AS answered,
  countIf(status IN ('default', 'timed-out')) AS not_in_time,
  sum(escalations) AS escalations,
  round(quantileExact(0.5)(so_far_ms) / 60000, 1) AS p50_minutes,
  round(quantileExact(0.95)(so_far_ms) / 60000, 1) AS p95_minutes,
  round(max(so_far_ms) / 60000, 1) AS longest_minutes,
  round(sum(so_far_ms) / 3600000, 2) AS waited_hours
FROM (
  SELECT
    about,
    agent_type,
    asked_of,
    status,
    escalations,
    coalesce(waited_ms, greatest(dateDiff('millisecond', asked_at, least(now64(3), toDateTime64({until:DateTime}, 3))), 0))
      AS so_far_ms
  FROM longrein.questions
  WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND asked_at >= {since:DateTime} AND asked_at < {until:DateTime}
)
GROUP BY about, agent_type, asked_of
ORDER BY waited_hours DESC, about, agent_type, asked_of
