-- Sessions that came closest to their budget.
-- @limit UInt32=20 how many
SELECT
  tenant_id,
  session_id,
  status,
  cost_usd,
  CAST(budget_nano_usd AS Decimal(38, 9)) / 1000000000 AS budget_usd,
  round(100 * cost_nano_usd / budget_nano_usd, 2) AS percent
FROM longrein.sessions
WHERE (tenant_id = {tenant:String} OR {tenant:String} = '') AND opened_at >= {since:DateTime} AND opened_at < {until:DateTime} AND budget_nano_usd > 0
ORDER BY percent DESC, session_id
LIMIT {limit:UInt32}
