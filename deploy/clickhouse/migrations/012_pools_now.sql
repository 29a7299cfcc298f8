-- What every pool has to do at this moment, for who starts and stops workers. It is asked of the events of sessions that
-- have not ended, so that a host that died and one that took over leave nothing behind in it.
CREATE OR REPLACE VIEW longrein.pools_now
(
  tenant_id String COMMENT 'whose tasks',
  pool String COMMENT 'worker pool',
  pending UInt64 COMMENT 'tasks that no worker has taken yet',
  waiting_place UInt64 COMMENT 'tasks that wait for a place within the limits of the pool; more workers would not help them',
  running UInt64 COMMENT 'tasks whose agent runs',
  retrying UInt64 COMMENT 'tasks whose last try failed and whose next is still to come',
  oldest_pending_ms Int64 COMMENT 'for how long the oldest of the pending tasks has waited, in milliseconds; 0: none waits',
  oldest_waiting_place_ms Int64 COMMENT 'the same of the tasks that wait for a place'
)
AS SELECT
  l.tenant_id AS tenant_id,
  l.pool AS pool,
  countIf(l.type IN ('task.scheduled', 'permit.granted')) AS pending,
  countIf(l.type = 'permit.requested') AS waiting_place,
  countIf(l.type = 'agent.started') AS running,
  countIf(l.type IN ('task.failed', 'task.timed-out', 'task.retry-scheduled')) AS retrying,
  maxIf(greatest(dateDiff('millisecond', l.at, now64(3)), 0), l.type IN ('task.scheduled', 'permit.granted'))
    AS oldest_pending_ms,
  maxIf(greatest(dateDiff('millisecond', l.at, now64(3)), 0), l.type = 'permit.requested')
    AS oldest_waiting_place_ms
FROM (
  SELECT
    m.tenant_id AS tenant_id,
    argMaxIf(m.pool, m.place, m.pool != '') AS pool,
    argMax(m.type, m.place) AS type,
    argMax(m.at, m.place) AS at
  FROM (
    SELECT
      e.tenant_id AS tenant_id,
      e.session_id AS session_id,
      toString(e.type) AS type,
      e.at AS at,
      (e.k_offset, e.event_index) AS place,
      if(startsWith(e.type, 'permit.'), JSONExtractString(e.data, 'pool'), toString(e.pool)) AS pool,
      arrayJoin(if(
        startsWith(e.type, 'permit.'),
        arrayMap(t -> JSONExtractString(t, 'task'), arrayFilter(
          t -> e.type != 'permit.returned' OR JSONExtractString(t, 'outcome') IN ('unused', 'stopped'),
          JSONExtractArrayRaw(e.data, 'tasks')
        )),
        [e.task_id]
      )) AS task_id
    FROM longrein.events AS e
    WHERE e.effective = 1 AND e.kind IN ('turn', 'input') AND e.type IN (
        'permit.requested', 'permit.granted', 'permit.returned', 'agent.started', 'task.scheduled', 'task.failed',
        'task.timed-out', 'task.retry-scheduled', 'task.completed', 'task.abandoned', 'task.cancelled', 'task.skipped'
      )
      AND (e.tenant_id, e.session_id) IN (
        SELECT s.tenant_id, s.session_id FROM longrein.sessions_thin AS s
        GROUP BY s.tenant_id, s.session_id
        HAVING min(s.opened_at) IS NOT NULL AND min(s.closed_at) IS NULL
          AND min(s.completed_at) IS NULL AND min(s.failed_at) IS NULL AND min(s.cancelled_at) IS NULL
      )
  ) AS m
  GROUP BY m.tenant_id, m.session_id, m.task_id
) AS l
WHERE l.pool != ''
GROUP BY l.tenant_id, l.pool
COMMENT 'What each pool has to do at this moment, by tenant: for autoscalers.';
