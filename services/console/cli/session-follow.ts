/** A session as it goes on: what is there, then each event as it comes, until the session is closed. */
import { History } from '../../../replay-tools/read/history.ts';
import { readFromLog } from '../../../replay-tools/read/kafka.ts';
import { type JudgedRecord, judgeNext, judgeSession } from '../../../replay-tools/read/session.ts';
import type { SessionSource, SourceRecord } from '../../../replay-tools/read/source.ts';
import { isHousekeeping } from '../../../replay-tools/show/event-text.ts';
import { type Filter, fits } from '../../../replay-tools/show/filter.ts';
import { type RowOptions, rowLines, rowOf } from '../../../replay-tools/show/rows.ts';
import { timelineLines } from '../../../replay-tools/show/timeline.ts';
import { createDirectoryBlobs } from '../../chassis/content/blobs.ts';
import { createFixedCodec } from '../../chassis/log/codec.ts';
import { contentKeysOf, readLogAddress } from './config.ts';
import { type Call, flagOption } from './context.ts';
import { withLog } from './log-client.ts';
import { viewMaskOf } from './replay-call.ts';
import { sessionOf, type Wanted } from './session-source.ts';

type Options = Filter & RowOptions;

/** Shows the session so far and then what happens. Ends when the session is closed. Throws what reading throws. */
export async function followSession(call: Call, wanted: Wanted, options: Options): Promise<void> {
  const { environment, id } = wanted;
  const session = await sessionOf(environment, id);
  const blobs = createDirectoryBlobs((await readLogAddress(environment)).blobDir);
  await withLog(environment, async (log) => {
    const keys = contentKeysOf(environment);
    const reading = { log, codec: createFixedCodec(), blobs, keys };
    const read = await readFromLog(reading, session);
    await followSource(call, (await viewMaskOf(call))?.source(read) ?? read, options);
  });
}

/** The same for a source. One whose session is over already is shown, and nothing is waited for. */
export async function followSource(
  call: Call,
  source: SessionSource,
  options: Options,
): Promise<void> {
  const shown = new Shown(call, options);
  const isOver = await shown.begin(source);
  if (isOver || source.later === undefined) return;
  for await (const record of source.later()) if (shown.take(record)) return;
}

/** What was shown so far, and the state of the session after it. */
class Shown {
  private readonly call: Call;
  private readonly options: Options;
  private records: JudgedRecord[] = [];
  private judged: Awaited<ReturnType<typeof judgeSession>> | undefined;

  constructor(call: Call, options: Options) {
    this.call = call;
    this.options = options;
  }

  /** Shows what is there. Answers whether the session is over. */
  async begin(source: SessionSource): Promise<boolean> {
    this.judged = await judgeSession(source);
    this.records = [...this.judged.records];
    if (this.call.json) this.tell(new History(this.judged).entries);
    else this.write(timelineLines(this.judged, this.options));
    return this.judged.core.status === 'closed';
  }

  /** Shows what the record brings. Answers whether the session is over. */
  take(record: SourceRecord): boolean {
    if (this.judged === undefined) return true;
    const next = judgeNext(this.judged, record);
    if (next.judged !== undefined) this.records.push(next.judged);
    this.judged = { ...this.judged, core: next.core, acceptance: next.acceptance };
    if (next.judged?.step?.events.length) {
      const history = new History({ ...this.judged, records: this.records });
      this.tell(history.entries.filter(({ offset }) => offset === record.offset));
    }
    return next.core.status === 'closed';
  }

  private tell(entries: History['entries']): void {
    const all = flagOption(this.call, 'all');
    const chosen = entries.filter(
      (one) => fits(one, this.options) && (all || !isHousekeeping(one.event.type)),
    );
    if (this.call.json) {
      for (const { event, place, who } of chosen)
        this.write([JSON.stringify({ place, who, ...event })]);
      return;
    }
    const openedAtMs = this.records[0]?.step?.events[0]?.atMs ?? 0;
    const rows = chosen.map((one) => rowOf(one, openedAtMs));
    this.write(rowLines(rows, openedAtMs, { ...this.options, widths: liveWidths }).flat());
  }

  private write(lines: readonly string[]): void {
    if (lines.length > 0) this.call.terminal.out(`${lines.join('\n')}\n`);
  }
}

/** Rows that come one by one are aligned by what most sessions need. */
const liveWidths = { place: 5, since: 8, who: 16, type: 20 };
