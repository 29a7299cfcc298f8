-- What people were asked and what became of it. A session that ended with a question open has nobody waiting any more,
-- also where the pool that asked could not withdraw it.
CREATE OR REPLACE VIEW longrein.questions
(
  tenant_id String COMMENT 'whose session',
  session_id String COMMENT 'session whose agent asked',
  root_session_id String COMMENT 'session of the goal; another one only where a child session asked',
  question_id String COMMENT 'the question, as longrein approvals lists it',
  task_id String COMMENT 'task of who asked',
  task_attempt UInt32 COMMENT 'which try of the task it was, from 1',
  agent_id String COMMENT 'agent that asked',
  agent_type String COMMENT 'its template',
  step UInt32 COMMENT 'step of the agent, from 1',
  about String COMMENT 'question, budget or failure',
  asked_of String COMMENT 'who was asked, in the words of the template; empty: anybody. The last one where it went to others too',
  escalations UInt32 COMMENT 'how often it went to somebody else too, because nobody answered in time',
  amount_nano_usd UInt64 COMMENT 'how much money was asked for, in nano-USD; 0: none',
  asked_at DateTime64(3, 'UTC') COMMENT 'when it was asked',
  due_at Nullable(DateTime64(3, 'UTC')) COMMENT 'until when the last one who was asked may answer; empty: as long as it takes',
  settled_at Nullable(DateTime64(3, 'UTC')) COMMENT 'when it was settled, at the latest when its session ended; empty: it is open',
  status String COMMENT 'open, answered, default, timed-out or withdrawn',
  decision String COMMENT 'answered, granted or denied; empty: nobody answered',
  answered_by String COMMENT 'whose answer counts; empty: nobody answered',
  waited_ms Nullable(Int64) COMMENT 'from asked to settled, in milliseconds; empty: it is open'
)
AS SELECT
  q.tenant_id AS tenant_id,
  q.session_id AS session_id,
  if(q.root = '', q.session_id, q.root) AS root_session_id,
  q.question_id AS question_id,
  q.task_id AS task_id,
  q.task_attempt AS task_attempt,
  q.agent_id AS agent_id,
  q.agent_type AS agent_type,
  q.step AS step,
  q.about AS about,
  q.asked_of AS asked_of,
  q.escalations AS escalations,
  q.amount_nano_usd AS amount_nano_usd,
  q.asked_at AS asked_at,
  if(q.due_at_ms = 0, NULL, fromUnixTimestamp64Milli(toInt64(q.due_at_ms), 'UTC')) AS due_at,
  coalesce(q.settled_at, s.ended_at) AS settled_at,
  multiIf(q.outcome != '', q.outcome, s.ended_at IS NULL, 'open', 'withdrawn') AS status,
  q.decision AS decision,
  q.answered_by AS answered_by,
  if(coalesce(q.settled_at, s.ended_at) IS NULL, NULL,
    greatest(dateDiff('millisecond', q.asked_at, coalesce(q.settled_at, s.ended_at)), 0)) AS waited_ms
FROM (
  SELECT
    e.tenant_id AS tenant_id,
    e.session_id AS session_id,
    JSONExtractString(e.data, 'question') AS question_id,
    maxIf(JSONExtractString(e.data, 'root'), e.type = 'person.asked') AS root,
    maxIf(e.task_id, e.type = 'person.asked') AS task_id,
    maxIf(toUInt32(e.attempt), e.type = 'person.asked') AS task_attempt,
    maxIf(e.agent_id, e.type = 'person.asked') AS agent_id,
    maxIf(toString(e.agent_type), e.type = 'person.asked') AS agent_type,
    maxIf(e.step, e.type = 'person.asked') AS step,
    maxIf(JSONExtractString(e.data, 'about'), e.type = 'person.asked') AS about,
    argMaxIf(JSONExtractString(e.data, 'to'), (e.k_offset, e.event_index), e.type != 'person.settled') AS asked_of,
    toUInt32(countIf(e.type = 'person.escalated')) AS escalations,
    maxIf(JSONExtractUInt(e.data, 'amountNanoUsd'), e.type = 'person.asked') AS amount_nano_usd,
    minIf(e.at, e.type = 'person.asked') AS asked_at,
    maxIf(JSONExtractUInt(e.data, 'dueAtMs'), e.type != 'person.settled') AS due_at_ms,
    minOrNullIf(e.at, e.type = 'person.settled') AS settled_at,
    maxIf(JSONExtractString(e.data, 'outcome'), e.type = 'person.settled') AS outcome,
    maxIf(JSONExtractString(e.data, 'decision'), e.type = 'person.settled') AS decision,
    maxIf(JSONExtractString(e.data, 'answeredBy'), e.type = 'person.settled') AS answered_by,
    countIf(e.type = 'person.asked') AS asked
  FROM longrein.events AS e
  WHERE e.effective = 1 AND e.kind = 'turn'
    AND e.type IN ('person.asked', 'person.escalated', 'person.settled')
  GROUP BY tenant_id, session_id, question_id
  HAVING asked > 0
) AS q
LEFT JOIN (
  SELECT
    t.tenant_id AS tenant_id,
    t.session_id AS session_id,
    coalesce(min(t.cancelled_at), min(t.failed_at), min(t.completed_at)) AS ended_at
  FROM longrein.sessions_thin AS t
  GROUP BY t.tenant_id, t.session_id
) AS s ON q.tenant_id = s.tenant_id AND q.session_id = s.session_id
COMMENT 'One row per question that an agent asked people, with how long it waited.';
