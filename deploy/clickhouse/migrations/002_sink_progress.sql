-- What has arrived, per partition: for reconciling with the log. One row of a record has
-- event_index 0.
CREATE TABLE IF NOT EXISTS longrein.sink_progress
(
  k_topic LowCardinality(String),
  k_partition UInt16,
  min_offset SimpleAggregateFunction(min, UInt64),
  max_offset SimpleAggregateFunction(max, UInt64),
  records SimpleAggregateFunction(sum, UInt64),
  events SimpleAggregateFunction(sum, UInt64),
  last_ingested_at SimpleAggregateFunction(max, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
ORDER BY (k_topic, k_partition)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS longrein.sink_progress_mv TO longrein.sink_progress AS
SELECT
  e.k_topic AS k_topic,
  e.k_partition AS k_partition,
  min(e.k_offset) AS min_offset,
  max(e.k_offset) AS max_offset,
  countIf(e.event_index = 0) AS records,
  count() AS events,
  max(e.ingested_at) AS last_ingested_at
FROM longrein.events AS e
GROUP BY e.k_topic, e.k_partition;
