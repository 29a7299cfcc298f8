import { seconds } from '../show/figures.ts';
import { plainPalette } from '../show/palette.ts';
import type { RowOptions } from '../show/rows.ts';
import { cutTo } from '../show/wrap.ts';
import type { DagTask, TaskStatus } from './dag.ts';

/** The plan as lines: what needs nothing first, each task with what it needs. */

export const marks: Readonly<Record<TaskStatus, string>> = {
  pending: '○',
  running: '◐',
  completed: '●',
  failed: '✗',
  skipped: '–',
  cancelled: '–',
};

/** What is worth saying of a task in short. */
export function fateText({ status, attempts, durationMs, code }: DagTask): string {
  const parts = [
    code === '' ? status : `${status} ${code}`,
    ...(attempts > 1 ? [`${attempts} attempts`] : []),
    ...(attempts === 0 ? [] : [seconds(durationMs)]),
  ];
  return parts.join(', ');
}

function lineOf(task: DagTask, widths: readonly [number, number]): string {
  const { id, agent, pool, needs, layer, status, made } = task;
  const stem = layer === 0 ? '' : `${'   '.repeat(layer - 1)}└─ `;
  const head = `${stem}${marks[status]} ${id}`.padEnd(widths[0]);
  const fate = fateText(task).padEnd(widths[1]);
  const how = made === undefined ? 'needs' : made === 'handoff' ? 'handed on by' : 'delegated by';
  const needed = needs.length === 0 ? '' : `  ${how} ${needs.join(', ')}`;
  return `${head}  ${fate}  ${agent} of ${pool}${needed}`;
}

export function dagLines(tasks: readonly DagTask[], options: RowOptions = {}): readonly string[] {
  const { palette = plainPalette, columns } = options;
  const inLayers = tasks.toSorted((a, b) => a.layer - b.layer);
  const headWidth = Math.max(...tasks.map(({ id, layer }) => id.length + 2 + layer * 3));
  const fateWidth = Math.max(...tasks.map((task) => fateText(task).length));
  return inLayers.map((task) => {
    const line = lineOf(task, [headWidth, fateWidth]);
    const fit = columns === undefined ? line : cutTo(line, columns);
    if (task.status === 'failed') return palette.error(fit);
    return task.status === 'completed' || task.status === 'running' ? fit : palette.quiet(fit);
  });
}
