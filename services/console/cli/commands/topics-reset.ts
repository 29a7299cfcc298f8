import { topics } from '../../../../schemas/topics.ts';
import { LongreinError } from '../../../chassis/errors.ts';
import type { Deed } from '../../../chassis/host/watermark-records.ts';
import type { Entry, Watermarks } from '../../../chassis/host/watermarks.ts';
import type { LogPort } from '../../../chassis/log/port.ts';
import { type Call, type CommandSpec, flagOption, textOption, writeJson } from '../context.ts';
import { exitCodes, UsageError } from '../exit-code.ts';
import { deedOf, reasonOptions } from '../who.ts';

/** Topics that other programs share; the event store alone keeps places in them. */
const publicTopics = topics.filter(({ kind }) => kind === 'public').map(({ name }) => name);

type Reset = Readonly<{ partition: number; offset: number }>;

/** A person gives up what a topic lost, and the services go on with what it holds. */
export const topicsReset: CommandSpec = {
  name: 'reset <topic>',
  about: 'go on with a session log that lost records or was made again; what it lost is given up',
  options: [
    { flags: '--partition <n>', about: 'only this partition; without it, all that are broken' },
    {
      flags: '--from-end',
      about: 'give up all that the partition holds, where it cannot be read on; needs --partition',
    },
    ...reasonOptions,
  ],
  examples: [
    'longrein topics reset longrein.sessions.normal --reason "lost with broker 2"',
    'longrein topics reset longrein.sessions.normal --partition 3 --from-end --reason "a gap in a backup"',
  ],
  async run(call) {
    const { withLog } = await import('../log-client.ts');
    const deed = deedOf(call);
    const [topic = ''] = call.args;
    const wanted = partitionOption(call);
    const fromEnd = flagOption(call, 'fromEnd');
    if (fromEnd && wanted === undefined)
      throw new UsageError('--from-end gives up a whole partition', 'Say which: --partition 3');
    const resets = await withLog(call.environment, (log) =>
      reset(call, log, { topic, wanted, fromEnd, deed }),
    );
    if (call.json) writeJson(call, { topic, resets, ...deed });
    else {
      for (const { partition, offset } of resets)
        call.terminal.out(`${topic}/${partition} is read from ${offset} on.\n`);
      call.terminal.out('Hosts that run take it up within a minute; see: longrein status\n');
      call.terminal.out(
        'Sessions that were open there may never end: cancel them and ask again.\n',
      );
    }
    return exitCodes.done;
  },
};

function partitionOption(call: Call): number | undefined {
  const text = textOption(call, 'partition');
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  throw new UsageError(`"${text}" is no partition`, 'Give its number: --partition 3');
}

type Asked = Readonly<{
  topic: string;
  wanted: number | undefined;
  fromEnd: boolean;
  deed: Deed;
}>;

async function reset(call: Call, log: LogPort, asked: Asked): Promise<Reset[]> {
  const { sessionLogs, withWatermarks, writeEntries } = await import('../log-state.ts');
  const { topic } = asked;
  const known = [...(await sessionLogs(log)), ...publicTopics];
  if (!known.includes(topic))
    throw new UsageError(`${topic} is no topic of the log`, `One of: ${known.join(', ')}.`);
  await makeMissing(call, log, topic);
  return await withWatermarks(log, async (watermarks) => {
    const { entries, resets } = await planned(log, watermarks, asked);
    await writeEntries(log, entries);
    return resets;
  });
}

async function planned(
  log: LogPort,
  watermarks: Watermarks,
  { topic, wanted, fromEnd, deed }: Asked,
): Promise<{ entries: Entry[]; resets: Reset[] }> {
  const { topicKey } = await import('../../../chassis/host/watermark-records.ts');
  const { isBroken, resetEntries } = await import('../topic-reset.ts');
  const id = await log.topicId(topic);
  const known = watermarks.topic(topic);
  const sameTopic = known === undefined || id === undefined || known.id === id;
  const isPublic = publicTopics.includes(topic);
  const entries: Entry[] = [];
  const resets: Reset[] = [];
  for (const [partition, bounds] of await log.bounds(topic)) {
    const name = { topic, partition };
    // What was made again was made again in all its partitions.
    const isDue = fromEnd || isBroken(watermarks, name, bounds);
    const due = !sameTopic || (!isPublic && isDue);
    if (!due || (sameTopic && wanted !== undefined && wanted !== partition)) continue;
    // Nobody decides from a public topic: there are no epochs that could be void.
    const place = { bounds, sameTopic, fromEnd, nowMs: deed.atMs };
    const written = isPublic ? [] : resetEntries(watermarks, name, place);
    entries.push(...written);
    const trim = written.at(-1)?.value as { offset?: number } | undefined;
    resets.push({ partition, offset: trim?.offset ?? bounds.low });
  }
  if (resets.length === 0) throw nothingBroken(topic);
  const made = sameTopic ? known?.made : (known?.made ?? 1) + 1;
  const times = made === undefined ? {} : { made };
  const value = { topic, id: id ?? known?.id ?? '', atMs: deed.atMs, reset: deed, ...times };
  return { entries: [...entries, { key: topicKey(topic), value }], resets };
}

/** A topic that was deleted is made again by the hand of a person only. */
async function makeMissing(call: Call, log: LogPort, topic: string): Promise<void> {
  try {
    await log.bounds(topic);
  } catch (thrown) {
    if (!(thrown instanceof LongreinError) || thrown.code !== 'TOPIC_UNKNOWN') throw thrown;
    const { topicSpecs } = await import('../../../chassis/host/topic-specs.ts');
    const { readRuntimeConfig } = await import('../../../chassis/config/runtime-config.ts');
    const { withLanes } = await import('../log-state.ts');
    const config = readRuntimeConfig(call.environment);
    const specs = await withLanes(log, config.partitions, ({ table }) => topicSpecs(config, table));
    await log.ensureTopics(specs.filter(({ name }) => name === topic));
  }
}

const nothingBroken = (topic: string): LongreinError =>
  new LongreinError('NOTHING_TO_RESET', `${topic} holds all that its watermarks need`, {
    fix: 'Nothing: hosts can read it. What stands still, and why: longrein status',
  });
