-- Rights for one tenant's own analysts, on a server: they see that tenant's rows in every table and
-- view, and sums of nothing else. Put the tenant's id in place of TENANT.
CREATE ROLE IF NOT EXISTS longrein_tenant SETTINGS PROFILE longrein_analyst;
GRANT SELECT ON longrein.* TO longrein_tenant;
REVOKE SELECT ON longrein.migrations FROM longrein_tenant;
REVOKE SELECT ON longrein.sink_progress FROM longrein_tenant;
-- The masked view reads with the rights of who made it, past the rows of a tenant.
REVOKE SELECT ON longrein.contents_masked FROM longrein_tenant;

CREATE ROW POLICY IF NOT EXISTS tenant_rows ON longrein.events, longrein.calls_thin,
  longrein.tasks_thin, longrein.sessions_thin, longrein.costs_hourly
  USING tenant_id = 'TENANT' TO longrein_tenant;

-- A policy for some hides every row from the others: they keep theirs.
CREATE ROW POLICY IF NOT EXISTS all_rows ON longrein.events, longrein.calls_thin,
  longrein.tasks_thin, longrein.sessions_thin, longrein.costs_hourly
  USING 1 TO ALL EXCEPT longrein_tenant;
