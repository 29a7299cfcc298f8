-- What the event store has stored, partition by partition, and when it last did.
SELECT
  k_topic AS topic,
  k_partition AS partition,
  min(min_offset) AS first_offset,
  max(max_offset) AS last_offset,
  sum(records) AS records,
  sum(events) AS events,
  records = last_offset - first_offset + 1 AS without_gap
FROM longrein.sink_progress
GROUP BY topic, partition
ORDER BY topic, partition
