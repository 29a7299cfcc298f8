import { readOpenSessions } from '../../../../replay-tools/read/open-sessions.ts';
import { readWaitingGoals } from '../../../../replay-tools/read/waiting-goals.ts';
import { laneAt, lanes, sessionTopic } from '../../../../schemas/topics.ts';
import { LongreinError } from '../../../chassis/errors.ts';
import type { LogPort } from '../../../chassis/log/port.ts';
import { quietLogger } from '../../../chassis/telemetry/quiet-logger.ts';
import { type CommandSpec, writeJson } from '../context.ts';
import { exitCodes, UsageError } from '../exit-code.ts';
import { retireGeneration } from '../lane-change.ts';
import { withLog } from '../log-client.ts';
import { deedOf, reasonOptions } from '../who.ts';

/** Hosts read an old generation no more. Its topics stay, for replay, until somebody deletes them. */
export const topicsRetire: CommandSpec = {
  name: 'retire <generation>',
  about: 'stop reading an old generation of the lanes, once nothing is open in it',
  options: reasonOptions,
  examples: ['longrein topics retire 1 --reason "drained since Monday"'],
  async run(call) {
    const [given = ''] = call.args;
    if (!/^[1-9]\d{0,3}$/.test(given))
      throw new UsageError(`"${given}" is no generation`, 'See them: longrein topics list');
    const generation = Number(given);
    const deed = deedOf(call);
    const own = lanes.map((lane) => laneAt(lane, generation));
    const topics = own.map(sessionTopic);
    const after = await withLog(call.environment, async (log) => {
      await refuseOpen(log, topics);
      await refuseWaiting(log, own);
      return retireGeneration(log, generation, deed);
    });
    if (call.json) writeJson(call, { generation, table: after });
    else
      call.terminal.out(
        `Hosts read generation ${generation} no more. Its topics stay for replay; when nobody needs them:\n` +
          `${topics.map((topic) => `  kafka-topics.sh --delete --topic ${topic}`).join('\n')}\n`,
      );
    return exitCodes.done;
  },
};

async function refuseOpen(log: LogPort, topics: readonly string[]): Promise<void> {
  const found = await readOpenSessions(log, quietLogger, topics);
  const open = found.flatMap((partition) => partition.open);
  if (open.length === 0) return;
  const some = open.slice(0, 3).join(', ');
  const what = open.length === 1 ? 'session is' : 'sessions are';
  throw new LongreinError('GENERATION_NOT_DRAINED', `${open.length} ${what} still open: ${some}`, {
    fix: 'wait for their end, or cancel them: longrein goal cancel SESSION',
  });
}

/** A goal that waits for its key opens its session in the lane that was settled when it came. */
async function refuseWaiting(log: LogPort, own: readonly string[]): Promise<void> {
  const goals = await readWaitingGoals(log, quietLogger);
  const held = goals.filter(({ lane }) => lane === undefined || own.includes(lane));
  if (held.length === 0) return;
  const some = held.slice(0, 3).map(({ goalLog }) => goalLog);
  const message = `${held.length} goals of it have not ended: ${some.join(', ')}`;
  throw new LongreinError('GENERATION_NOT_DRAINED', message, {
    fix: 'wait for their end, or cancel them: longrein goal cancel ID',
  });
}
