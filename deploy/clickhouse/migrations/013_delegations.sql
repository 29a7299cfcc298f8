-- Work that agents gave to others. The id of such a task says where it comes from (`note/1/2`: the second that the agent of
-- `note/1` delegated), so what it cost with all that it gave on is found by the beginning of the id.
CREATE OR REPLACE VIEW longrein.delegations
(
  tenant_id String COMMENT 'whose session',
  session_id String COMMENT 'session of both',
  task_id String COMMENT 'task that was made; its id is the path from the task of the plan',
  by_task_id String COMMENT 'task whose agent made it',
  by_agent_id String COMMENT 'agent that gave the work',
  by_agent_type String COMMENT 'its template',
  agent_type String COMMENT 'template of who got the work',
  kind String COMMENT 'delegate: a part of the work; handoff: all of it',
  depth UInt32 COMMENT 'how many agents delegated on the way from the task of the plan',
  set_aside_nano_usd UInt64 COMMENT 'set aside for it out of the budgets around it, in nano-USD; 0: none',
  given_at DateTime64(3, 'UTC') COMMENT 'when it was given',
  ended_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when it ended; empty: not yet',
  status String COMMENT 'completed, failed or cancelled; running: not ended',
  cost_nano_usd UInt64 COMMENT 'money that it spent with all that it gave on, in nano-USD; it stands in the rows of those calls too'
)
AS SELECT
  d.tenant_id AS tenant_id,
  d.session_id AS session_id,
  d.task_id AS task_id,
  d.by_task_id AS by_task_id,
  d.by_agent_id AS by_agent_id,
  d.by_agent_type AS by_agent_type,
  d.agent_type AS agent_type,
  d.kind AS kind,
  d.depth AS depth,
  d.set_aside_nano_usd AS set_aside_nano_usd,
  d.given_at AS given_at,
  d.ended_at AS ended_at,
  d.status AS status,
  toUInt64(c.cost_nano_usd) AS cost_nano_usd
FROM (
  SELECT
    e.tenant_id AS tenant_id,
    e.session_id AS session_id,
    if(e.type = 'task.delegated', JSONExtractString(e.data, 'delegated'), toString(e.task_id)) AS task_id,
    max(if(e.type = 'task.delegated', toString(e.task_id), '')) AS by_task_id,
    max(if(e.type = 'task.delegated', toString(e.agent_id), '')) AS by_agent_id,
    max(if(e.type = 'task.delegated', toString(e.agent_type), '')) AS by_agent_type,
    max(if(e.type = 'task.delegated', JSONExtractString(e.data, 'to'), '')) AS agent_type,
    max(if(e.type = 'task.delegated', JSONExtractString(e.data, 'kind'), '')) AS kind,
    max(if(e.type = 'task.delegated', toUInt32(JSONExtractUInt(e.data, 'depth')), 0)) AS depth,
    max(if(e.type = 'budget.set-aside', JSONExtractUInt(e.data, 'setAsideNanoUsd'), 0)) AS set_aside_nano_usd,
    minIf(e.at, e.type = 'task.delegated') AS given_at,
    minOrNullIf(e.at, e.type IN ('task.completed', 'task.abandoned', 'task.cancelled')) AS ended_at,
    multiIf(countIf(e.type = 'task.completed') > 0, 'completed', countIf(e.type = 'task.abandoned') > 0, 'failed',
      countIf(e.type = 'task.cancelled') > 0, 'cancelled', 'running') AS status,
    countIf(e.type = 'task.delegated') AS given
  FROM longrein.events AS e
  WHERE e.effective = 1 AND e.kind = 'turn'
    AND e.type IN ('task.delegated', 'budget.set-aside', 'task.completed', 'task.abandoned', 'task.cancelled')
  GROUP BY tenant_id, session_id, task_id
  HAVING given > 0
) AS d
LEFT JOIN (
  SELECT
    m.tenant_id AS tenant_id,
    m.session_id AS session_id,
    arrayJoin(arrayMap(
      place -> arrayStringConcat(arraySlice(splitByChar('/', toString(m.task_id)), 1, place), '/'),
      range(2, toUInt32(length(splitByChar('/', toString(m.task_id))) + 1)))) AS task_id,
    sum(m.cost_nano_usd) AS cost_nano_usd
  FROM longrein.events AS m
  WHERE m.effective = 1 AND m.cost_nano_usd > 0 AND position(toString(m.task_id), '/') > 0
  GROUP BY tenant_id, session_id, task_id
) AS c ON d.tenant_id = c.tenant_id AND d.session_id = c.session_id AND d.task_id = c.task_id
COMMENT 'One row per piece of work that an agent gave to another one, with what it cost.';
