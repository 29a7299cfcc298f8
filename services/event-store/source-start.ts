import type { TopicDefinition } from '../../schemas/topics.ts';
import { LongreinError } from '../chassis/errors.ts';
import type { ClosedSegment, Watermark } from '../chassis/host/watermarks.ts';
import type { Bounds, PartitionName } from '../chassis/log/port.ts';
import type { SinkState } from './decide.ts';
import { createPublicFold, SessionFold } from './partition-fold.ts';
import type { SourceStart } from './source.ts';

export type StartParts = Readonly<{
  kind: TopicDefinition['kind'];
  state: Pick<SinkState, 'topic' | 'partition' | 'next' | 'needFrom'>;
  bounds: Bounds;
  marks: readonly Watermark[];
  closed: readonly ClosedSegment[];
  /** See `createPublicFold`. */
  bare?: boolean;
}>;

/**
 * Where reading a source partition starts. Throws `SOURCE_POSITION_LOST` where the log does not
 * hold what is needed: it is never passed over silently.
 */
export function sourceStart(parts: StartParts): SourceStart {
  const { state, bounds, kind } = parts;
  if (state.next > bounds.high) throw lost(parts, 'was made again: it ends before that');
  return kind === 'public' ? publicStart(parts) : sessionStart(parts);
}

/**
 * A public topic forgets by time, stored or not. What is gone is no reason to store nothing any
 * more; `isCut` says so.
 */
function publicStart({ state, bounds, bare }: StartParts): SourceStart {
  const { next } = state;
  const offset = Math.max(next, bounds.low);
  return { fold: createPublicFold(bare), offset, next, gapless: false };
}

export const isCut = ({ state, bounds, kind }: StartParts): boolean =>
  kind === 'public' && bounds.low > state.next;

function sessionStart(parts: StartParts): SourceStart {
  const { state, bounds, marks, closed } = parts;
  const { topic, partition, next, needFrom } = state;
  const usable = marks.filter(({ offset }) => offset <= needFrom && offset >= bounds.low);
  const best = usable.reduce<Watermark | undefined>(
    (found, mark) => (found !== undefined && found.offset >= mark.offset ? found : mark),
    undefined,
  );
  if (best === undefined && bounds.low > 0) throw lost(parts, `begins at ${bounds.low}`);
  const { offset, acceptance } = best ?? { offset: bounds.low, acceptance: {} };
  const name: PartitionName = { topic, partition };
  return { fold: new SessionFold(name, { acceptance, closed }), offset, next, gapless: true };
}

function lost({ state }: StartParts, what: string): LongreinError {
  const { topic, partition, needFrom, next } = state;
  const needed = `is stored up to ${next} and must be read from ${needFrom}`;
  const message = `${topic}/${partition} ${needed}, but the log ${what}`;
  const fix = 'restore the topic from a replica or a backup; see `longrein doctor`';
  return new LongreinError('SOURCE_POSITION_LOST', message, { fix });
}
