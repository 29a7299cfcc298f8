import type { Run } from '../world/run-outcome.ts';
import { breakersHold } from './breakers-hold.ts';
import { cancelsFirst } from './cancels-first.ts';
import { causesAnswered } from './causes-answered.ts';
import { causesOnce } from './causes-once.ts';
import { checkpointsQuiet } from './checkpoints-quiet.ts';
import { claimsLost } from './claims-lost.ts';
import { closesQuietly } from './closes-quietly.ts';
import { decisionsRecomputed } from './decisions-recomputed.ts';
import { deliveriesInOrder } from './deliveries-in-order.ts';
import { effectsAllowed } from './effects-allowed.ts';
import { effectsOnce } from './effects-once.ts';
import { effectsPermitted } from './effects-permitted.ts';
import { factsOnce } from './facts-once.ts';
import { goalsGoOn } from './goals-go-on.ts';
import { keysSerial } from './keys-serial.ts';
import { keysSettled } from './keys-settled.ts';
import { lettersWritten } from './letters-written.ts';
import { machinesLegal } from './machines-legal.ts';
import { memberOrder } from './member-order.ts';
import { noSurprises } from './no-surprises.ts';
import { numbersUnbroken } from './numbers-unbroken.ts';
import { oneResult } from './one-result.ts';
import { ownerStates } from './owner-states.ts';
import { ownersDeliver } from './owners-deliver.ts';
import { partsOnce } from './parts-once.ts';
import { poolsKept } from './pools-kept.ts';
import { questionsOnce } from './questions-once.ts';
import { revisionsOnce } from './revisions-once.ts';
import { sessionsClose } from './sessions-close.ts';
import { sinkRows } from './sink-rows.ts';
import { spendInBudget, spendInDay } from './spend-in-budget.ts';
import { timeOrder } from './time-order.ts';
import { timersHonest } from './timers-honest.ts';
import { trimsRestore } from './trims-restore.ts';
import type { Checker, Violation } from './violation.ts';
import { wakesSettled } from './wakes-settled.ts';
import { watermarksRestore } from './watermarks-restore.ts';

/** They only read the log, and so can be asked also of a run that was broken off, whose log is long. */
const byReading: readonly Checker[] = [
  numbersUnbroken,
  causesOnce,
  factsOnce,
  effectsOnce,
  effectsPermitted,
  timersHonest,
  spendInBudget,
  noSurprises,
];

/** They fold what was read, or ask what is there at the end of a run. */
const others: readonly Checker[] = [
  oneResult,
  sessionsClose,
  causesAnswered,
  decisionsRecomputed,
  memberOrder,
  ownerStates,
  machinesLegal,
  timeOrder,
  keysSerial,
  keysSettled,
  poolsKept,
  effectsAllowed,
  claimsLost,
  ownersDeliver,
  deliveriesInOrder,
  cancelsFirst,
  closesQuietly,
  checkpointsQuiet,
  sinkRows,
  goalsGoOn,
  lettersWritten,
  spendInDay,
  questionsOnce,
  revisionsOnce,
  partsOnce,
  breakersHold,
  wakesSettled,
];

/** Restores that one run is checked with, drawn from its seed: each reads the log anew, and over many seeds they are many. */
const restoresMax = 5;

/** The rule of a run that was broken off, or that broke off by itself. */
export const ends = 'a run comes to its end';

/** All that is wrong with a run. */
export async function checkRun(run: Run): Promise<readonly Violation[]> {
  const read = byReading.flatMap((check) => check(run));
  if (run.runaway) return [{ rule: ends, detail: 'more requests than any run needs' }, ...read];
  const found = others.flatMap((check) => check(run));
  const restores = [
    await watermarksRestore(run, restoresMax),
    await trimsRestore(run, 2 * restoresMax),
  ];
  return [...found, ...read, ...restores.flat()];
}
