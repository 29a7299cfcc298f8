-- One row per event; a record without events (checkpoint, epoch) is one row too. Rows are never
-- changed. ReplacingMergeTree only sweeps up what a rebuilt range may have left twice: queries need
-- no FINAL, because ranges are inserted exactly once (deduplication token, window below). Money is
-- whole nano-USD. JSON is kept as text, byte for byte as it was hashed.
CREATE TABLE IF NOT EXISTS longrein.events
(
  tenant_id LowCardinality(String),
  session_id String CODEC(ZSTD(1)),
  k_topic LowCardinality(String),
  k_partition UInt16,
  k_offset UInt64 CODEC(Delta(8), ZSTD(1)),
  event_index UInt16,

  record_id String CODEC(ZSTD(1)),
  kind LowCardinality(String) COMMENT 'turn, input, checkpoint, epoch, public or foreign',
  effective UInt8 COMMENT '1 = counts, by the rules of the log',
  service LowCardinality(String),
  epoch UInt64 CODEC(T64, ZSTD(1)),
  incarnation String CODEC(ZSTD(1)),
  sequence UInt64 CODEC(T64, ZSTD(1)),
  base String COMMENT 'id of the last record that the decision had read' CODEC(ZSTD(1)),
  foreseen Array(String) CODEC(ZSTD(1)),
  causes Array(String) COMMENT 'record id, #, event index' CODEC(ZSTD(1)),
  behaviour UInt32,
  release LowCardinality(String),

  type LowCardinality(String),
  schema_version UInt16,
  at DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
  principal String CODEC(ZSTD(1)),
  labels Map(LowCardinality(String), String) CODEC(ZSTD(1)),
  agent_id String CODEC(ZSTD(1)),
  agent_type LowCardinality(String),
  task_id String CODEC(ZSTD(1)),
  call_id String CODEC(ZSTD(1)),
  pool LowCardinality(String),
  provider LowCardinality(String),
  model LowCardinality(String),
  tool LowCardinality(String),
  status LowCardinality(String),
  error_code LowCardinality(String),

  tokens_in UInt32 CODEC(T64, ZSTD(1)),
  tokens_out UInt32 CODEC(T64, ZSTD(1)),
  tokens_cache_read UInt32 CODEC(T64, ZSTD(1)),
  tokens_cache_write UInt32 CODEC(T64, ZSTD(1)),
  tokens_reasoning UInt32 CODEC(T64, ZSTD(1)),
  cost_nano_usd UInt64 CODEC(T64, ZSTD(1)),
  price_version LowCardinality(String),
  duration_us UInt64 CODEC(T64, ZSTD(1)),

  trace_id String CODEC(ZSTD(1)),
  span_id String CODEC(ZSTD(1)),
  data String COMMENT 'canonical JSON' CODEC(ZSTD(3)),
  content String COMMENT 'canonical JSON: name to digest and body or blob' CODEC(ZSTD(3)),
  record String COMMENT 'canonical JSON of the whole record, where event_index is 0' CODEC(ZSTD(3)),
  ingested_at DateTime64(3, 'UTC') DEFAULT now64(3) CODEC(Delta(8), ZSTD(1)),

  INDEX ix_at at TYPE minmax GRANULARITY 1,
  INDEX ix_offset k_offset TYPE minmax GRANULARITY 1,
  INDEX ix_session session_id TYPE bloom_filter(0.01) GRANULARITY 4,
  INDEX ix_record record_id TYPE bloom_filter(0.01) GRANULARITY 1,
  INDEX ix_call call_id TYPE bloom_filter(0.01) GRANULARITY 1,
  INDEX ix_trace trace_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(ingested_at)
PARTITION BY toYYYYMM(at)
PRIMARY KEY (tenant_id, session_id)
ORDER BY (tenant_id, session_id, k_topic, k_partition, k_offset, event_index)
SETTINGS
  index_granularity = 1024,
  index_granularity_bytes = '4Mi',
  non_replicated_deduplication_window = 10000,
  fsync_after_insert = 1,
  fsync_part_directory = 1,
  ttl_only_drop_parts = 1;
