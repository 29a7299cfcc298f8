import { type DataOf, event } from '../../schemas/event.ts';
import { keysTopic, lanes } from '../../schemas/topics.ts';
import { goalLogId, inputId } from '../../services/chassis/protocol/ids.ts';
import type { InputBody } from '../../services/chassis/protocol/record.ts';
import { saltOf, sealEvent } from '../../services/chassis/protocol/seal.ts';

/**
 * The goal log of a live fork: what people send to a session (cancels, signals, answers to questions) goes by the log of
 * its goal, and the one of the other session is another session's, or over. Its goal counts as admitted from the start.
 */

export type ForkGoalLog = Readonly<{ topic: string; session: string; id: string; body: InputBody }>;

type About = Readonly<{
  session: string;
  forked: DataOf<'session.forked'>;
  priority: string;
  source: string;
}>;

/** What opens the log; `body` is the opening of the fork itself. */
export function forkGoalLog(
  { session, forked, priority, source }: About,
  body: InputBody,
): ForkGoalLog {
  const goalLog = goalLogId(session);
  const { of, goalId, lane, topic, partition, to } = forked;
  const data: DataOf<'goal.received'> = {
    ...{ goalId, source, session, lane, forkOf: of, receivedAtMs: body.atMs },
    priority: lanes.find((one) => one === priority) ?? 'normal',
    origin: { topic, partition, offset: to },
  };
  return {
    topic: keysTopic,
    session: goalLog,
    id: inputId(goalLog, ['goal']),
    body: {
      ...body,
      session: goalLog,
      event: sealEvent(saltOf(goalLog), event('goal.received', data, {})),
    },
  };
}
