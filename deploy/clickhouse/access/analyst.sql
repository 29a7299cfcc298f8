-- The role of people who ask questions, for a ClickHouse server; run it once as an administrator.
-- The embedded engine has the same user and the same limits built in. A user `analyst` gets the role
-- with: CREATE USER analyst IDENTIFIED BY '…' SETTINGS PROFILE longrein_analyst; GRANT
-- longrein_analyst TO analyst;
CREATE SETTINGS PROFILE IF NOT EXISTS longrein_analyst SETTINGS
  readonly = 2,
  max_execution_time = 60 MAX 60,
  max_memory_usage = 700000000 MAX 700000000,
  max_result_rows = 1000000 MAX 1000000,
  max_result_bytes = 500000000 MAX 500000000,
  max_rows_to_read = 500000000 MAX 500000000,
  result_overflow_mode = 'throw' CONST,
  read_overflow_mode = 'throw' CONST,
  timeout_overflow_mode = 'throw' CONST,
  allow_ddl = 0 CONST;

CREATE ROLE IF NOT EXISTS longrein_analyst SETTINGS PROFILE longrein_analyst;

-- Tables of this database and nothing else: file(), url(), s3() and remote() need rights on
-- sources, SYSTEM statements rights of their own, and neither is given.
GRANT SELECT ON longrein.* TO longrein_analyst;
GRANT SHOW ON longrein.* TO longrein_analyst;
