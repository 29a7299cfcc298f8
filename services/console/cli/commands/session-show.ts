import type { History } from '../../../../replay-tools/read/history.ts';
import type { SessionSource } from '../../../../replay-tools/read/source.ts';
import type { TimelineOptions } from '../../../../replay-tools/show/timeline.ts';
import { blobDirOf } from '../config.ts';
import { type Call, type CommandSpec, flagOption, listOption, textOption } from '../context.ts';
import { type ExitCode, exitCodes, UsageError } from '../exit-code.ts';
import {
  layoutOf,
  sourceOptions,
  tell,
  unmaskedOption,
  wantedOf,
  withView,
} from '../replay-call.ts';

const spec: Omit<CommandSpec, 'examples'> = {
  name: 'show <session>',
  about: 'what happened in a session, and where it went wrong',
  options: [
    { flags: '--service <name...>', about: 'only what these services decided' },
    { flags: '--task <id...>', about: 'only what concerns these tasks' },
    { flags: '--kind <type...>', about: 'only these events: `tool.failed`, or all of `tool`' },
    { flags: '--at <event>', about: 'as it stood after this event (12.0), which is shown in full' },
    { flags: '--follow', about: 'go on with what happens, until the session ends' },
    { flags: '--full', about: 'with the contents of every event' },
    { flags: '--all', about: 'with housekeeping, and the records that count for nothing, and why' },
    unmaskedOption,
    ...sourceOptions,
  ],
  run: show,
};

/** What happened in a session, in order. */
export const sessionShow: CommandSpec = {
  ...spec,
  examples: ['longrein session show g-3f9c0a1b2c4d', 'longrein session show ses_0f3a9c --full'],
};

/** The same, among the verbs of replay. */
export const replayShow: CommandSpec = {
  ...spec,
  examples: [
    'longrein replay show ses_0f3a9c --task audit --kind tool',
    'longrein replay show session.jsonl --at 74.0',
  ],
};

async function show(call: Call): Promise<ExitCode> {
  if (flagOption(call, 'follow')) return await follow(call);
  return await withView(call, async (history) => {
    const { keptOf } = await import('../kept-contexts.ts');
    const kept = await keptOf(blobDirOf(call.environment), history.session);
    const options = { ...(await optionsOf(call, history)), kept };
    const { timelineLines } = await import('../../../../replay-tools/show/timeline.ts');
    const { filtered } = await import('../../../../replay-tools/show/filter.ts');
    tell(
      call,
      () => ({ ...documentOf(history, filtered(history, options)), keptContexts: kept }),
      () => timelineLines(history.judged, options),
    );
    return exitCodes.done;
  });
}

async function optionsOf(call: Call, history: History): Promise<TimelineOptions> {
  const { findEvent } = await import('../../../../replay-tools/read/find-event.ts');
  const at = textOption(call, 'at');
  const full = flagOption(call, 'full');
  return {
    // What is shown in full is meant for a pager or a file.
    ...(full ? { palette: layoutOf(call).palette } : layoutOf(call)),
    services: listOption(call, 'service'),
    tasks: listOption(call, 'task'),
    kinds: listOption(call, 'kind'),
    ...{ full, all: flagOption(call, 'all') },
    ...(at === undefined ? {} : { at: findEvent(history, at) }),
  };
}

async function follow(call: Call): Promise<ExitCode> {
  const wanted = wantedOf(call);
  if (wanted.source !== 'kafka') {
    const message = `--follow reads the log itself, not ${wanted.source}`;
    throw new UsageError(message, 'Leave --source and --file out.');
  }
  const { followSession } = await import('../session-follow.ts');
  const filter = {
    services: listOption(call, 'service'),
    tasks: listOption(call, 'task'),
    kinds: listOption(call, 'kind'),
  };
  await followSession(call, wanted, { ...filter, ...layoutOf(call) });
  return exitCodes.done;
}

function documentOf(history: History, entries: History['entries']) {
  const { source, core, records } = history.judged;
  const { session, topic, partition, origin }: SessionSource = source;
  const events = entries.map(({ event, offset, who, address, causes, scope }) => {
    const { atMs, type, index, record, service, data, content } = event;
    const at = new Date(atMs).toISOString();
    return {
      at,
      offset,
      index,
      record,
      address,
      service,
      who,
      type,
      ...scope,
      causes,
      data,
      content,
    };
  });
  const ignoredRecords = records.filter(({ verdict }) => verdict !== 'effective').length;
  const { tenant, principal, labels } = core.meta;
  const place = { session, topic, partition, origin, status: core.status };
  return { ...place, tenant, principal, labels, ignoredRecords, events };
}
