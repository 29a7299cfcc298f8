/** Every bound of the system, with its reason. Bytes, milliseconds, counts. */
export const limits = {
  /** A record at the broker: Kafka's usual 1 MiB. */
  recordBytesMax: 1_048_576,
  /** A turn, contents inline only below `contentInlineBytesMax`: leaves room for headers and framing. */
  turnBytesMax: 900_000,
  /** Events of one turn; its schema says the same. */
  turnEventsMax: 4_096,
  /** Causes that a turn names; it answers the others too. */
  turnCausesMax: 1_000,
  /** Deliveries that one turn closes; more go into the next. */
  turnDeliveriesMax: 500,
  /** Larger contents go to blobs: a record stays small enough to be batched. */
  contentInlineBytesMax: 32_768,
  /** A goal on the public topic, as it came. */
  goalBytesMax: 524_288,
  /** The output in a public result: one record, with room for what stands around it. */
  resultBytesMax: 900_000,
  /** A reason in a public result; the log has all of it. */
  reasonCharactersMax: 16_384,
  /** Branches of one fan-out: its session holds a state for each. */
  fanOutItemsMax: 1_000,
  /** The id of a task that is made of others: those are called after it. */
  compositeIdCharactersMax: 120,
  /** Signals that one goal or one loop has not seen yet; more are dropped. */
  signalsWaitingMax: 1_000,
  /** Levels of objects and lists in a goal: every reader walks them with its stack. */
  goalDepthMax: 64,
  /** A content of any kind: what a process can hold and hash without stalling its host. */
  contentBytesMax: 33_554_432,
  /** Goals that wait for one key. */
  keyQueueMax: 1_000,
  /** How long a claim without outcome waits after its deadline before it counts as lost. */
  claimGraceMs: 5_000,
  /** How long after its deadline an effect is stopped that did not keep it by itself: less than the grace. */
  effectOverrunMs: 1_000,
  /** How long a heartbeat may be missing before its instance counts as gone. */
  presenceMs: 5_000,
  /** How long it may be missing before others read ahead what they would get of it: two heartbeats, as one may be lost. */
  silenceMs: 2_000,
  /** Dead letters of unreadable records that wait in a partition; what comes beyond them is only counted. */
  ignoredLettersMax: 100,
  /** Own turns in a row that may be void under the own current epoch before their service counts as unable to decide. */
  voidTurnsMax: 5,
  /** What a lane does, in records folded, with each round of the event loop as long as a better lane of the host has work. */
  laneShares: { high: 64, normal: 16, bulk: 8 },
  /** A lane that had work so lately has work. */
  laneActiveMs: 1_000,
  /** A decision that goes out with what caused it takes as long as folding so many records. */
  laneDecisionCost: 4,
  /** Outcomes that a session which a host took over from a dead one must outlive before more of it goes out as one batch. */
  trustedOutcomes: 3,
  /** Records of one request to a partition: group commit without long requests. */
  requestRecordsMax: 500,
  requestBytesMax: 900_000,
  /** Records of a batch whose turns foresaw each other: fewer than a session remembers as foreseeable (`recent`). */
  batchTurnsMax: 32,
  /** Bytes of such a batch: a request takes it whole, with room for what goes with it. */
  batchBytesMax: 450_000,
  /** Records a partition may queue in memory before its reader pauses. */
  partitionQueueMax: 5_000,
  /** What a host wrote comes back to it sooner, or its partition is read again: some waits of a request that failed. */
  unreadMsMax: 30_000,
  /** Goals of one partition on their way into their logs before reading waits: some requests of group commit. */
  goalsWritingMax: 2_000,
  goalsWritingBytesMax: 16_777_216,
  /** Records of a session after its last checkpoint before the next one. */
  checkpointRecords: 200,
  /** Bytes of log for each byte of a session's checkpoints, all services of a host together: it grows by so small a part. */
  checkpointShare: 20,
  /** How long a cancel waits for the opening of its session. */
  earlyCancelMs: 3_600_000,
  /** Records that a restart may have to read again for the sake of one idle session. */
  carryForwardRecords: 5_000,
  /** Records of a partition for each that carries an idle session of it forward: at most so small a part of the log. */
  carryForwardSpacing: 8,
  /** Checkpoints that one look at a partition writes: what has work comes first. */
  checkpointsPerRound: 500,
  /** How long a session must have been quiet before a host packs it: packing and unpacking cost half a millisecond. */
  sessionIdleMs: 60_000,
  /** Sessions that one look at a partition packs: thousands that fall quiet together must not hold up heartbeats. */
  packedPerRound: 100,
  /** Inputs that a session remembers to know a repeat: its checkpoint holds them, however many come in a week. */
  rememberedInputsMax: 10_000,
  /** How long a watermark may stand still, more than `carryForwardRecords` behind, before that is an alarm. */
  watermarkStalledMs: 300_000,
  /** Sessions of one segment of closed ones: a record that every reader of watermarks holds. */
  closedSegmentSessionsMax: 5_000,
  /** How long closed sessions are remembered (DESIGN 3.8). */
  dedupeHorizonMs: 7 * 86_400_000,
} as const;
