-- Numbers in the place of the names by which calls are grouped most: of the session, and of the agent in it. Two names are
-- text of some seventy bytes for each call; a number is eight, and compares in one step. They never leave the engine: what
-- they mean is said by the columns that they were made of.
ALTER TABLE longrein.calls_thin
  ADD COLUMN IF NOT EXISTS session_key UInt64 MATERIALIZED cityHash64(tenant_id, session_id) CODEC(NONE),
  ADD COLUMN IF NOT EXISTS agent_key UInt64 MATERIALIZED
    if(agent_id = '', 0, cityHash64(tenant_id, session_id, agent_id)) CODEC(NONE);

-- Rows of before: until the engine has written them, it computes the numbers when it reads.
ALTER TABLE longrein.calls_thin MATERIALIZE COLUMN session_key, MATERIALIZE COLUMN agent_key;
