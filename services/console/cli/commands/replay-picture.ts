import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { History } from '../../../../replay-tools/read/history.ts';
import type { RowOptions } from '../../../../replay-tools/show/rows.ts';
import { type Call, type CommandSpec, textOption } from '../context.ts';
import { type ExitCode, exitCodes } from '../exit-code.ts';
import { layoutOf, sourceOptions, tell, withHistory } from '../replay-call.ts';

const options = [
  { flags: '--svg <file>', about: 'write a picture to this file' },
  ...sourceOptions,
];

/** A picture of a session: as a document, as lines, as SVG. */
type Picture = Readonly<{
  document: object;
  lines(options: RowOptions): readonly string[];
  svg(): string;
}>;

async function show(call: Call, pictureOf: (history: History) => Picture): Promise<ExitCode> {
  return await withHistory(call, async (history) => {
    const picture = pictureOf(history);
    const file = textOption(call, 'svg');
    if (file !== undefined) await writeFile(resolve(call.workingDir, file), picture.svg());
    tell(
      call,
      () => ({ session: history.session, ...picture.document }),
      () => (file === undefined ? picture.lines(layoutOf(call)) : [`Wrote ${file}.`]),
    );
    return exitCodes.done;
  });
}

/** Tasks and calls over time. */
export const replayGantt: CommandSpec = {
  name: 'gantt <session>',
  about: 'tasks, calls and waits over time',
  options,
  examples: ['longrein replay gantt ses_0f3a9c', 'longrein replay gantt ses_0f3a9c --svg time.svg'],
  async run(call) {
    const { spansOf } = await import('../../../../replay-tools/gantt/spans.ts');
    const { ganttLines } = await import('../../../../replay-tools/gantt/gantt-text.ts');
    const { ganttSvg } = await import('../../../../replay-tools/gantt/gantt-svg.ts');
    return await show(call, (history) => {
      const spans = spansOf(history);
      return {
        document: { spans },
        lines: (layout) => ganttLines(spans, layout),
        svg: () => ganttSvg(history.session, spans),
      };
    });
  },
};

/** The plan and what became of its tasks. */
export const replayDag: CommandSpec = {
  name: 'dag <session>',
  about: 'the plan as a graph, with what became of each task',
  options,
  examples: ['longrein replay dag ses_0f3a9c', 'longrein replay dag ses_0f3a9c --svg plan.svg'],
  async run(call) {
    const { dagOf } = await import('../../../../replay-tools/dag/dag.ts');
    const { dagLines } = await import('../../../../replay-tools/dag/dag-text.ts');
    const { dagSvg } = await import('../../../../replay-tools/dag/dag-svg.ts');
    return await show(call, (history) => {
      const tasks = dagOf(history);
      return {
        document: { tasks },
        lines: (layout) => dagLines(tasks, layout),
        svg: () => dagSvg(history.session, tasks),
      };
    });
  },
};
