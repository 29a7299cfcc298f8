import { colorOf, escaped, svgOf, type Tone } from '../show/svg.ts';
import type { DagTask, TaskStatus } from './dag.ts';
import { fateText, marks } from './dag-text.ts';

/** The plan as an SVG document: layers from left to right, an arrow for each need. */

const boxWidth = 190;
const boxHeight = 54;
const gapX = 70;
const gapY = 18;
const margin = 20;
const head = 36;

const tones: Readonly<Record<TaskStatus, Tone>> = {
  pending: 'quiet',
  running: 'open',
  completed: 'ok',
  failed: 'failed',
  skipped: 'quiet',
  cancelled: 'quiet',
};

type Placed = Readonly<{ task: DagTask; x: number; y: number }>;

/** Within a layer in the order of what they need, so that fewer arrows cross. */
function placedIn(tasks: readonly DagTask[]): ReadonlyMap<string, Placed> {
  const placed = new Map<string, Placed>();
  const layers = 1 + Math.max(...tasks.map(({ layer }) => layer));
  for (let layer = 0; layer < layers; layer++) {
    const own = tasks.filter((task) => task.layer === layer);
    const pull = ({ needs }: DagTask): number => {
      const ys = needs.map((id) => placed.get(id)?.y ?? 0);
      return ys.reduce((sum, y) => sum + y, 0) / Math.max(1, ys.length);
    };
    for (const [row, task] of own.toSorted((a, b) => pull(a) - pull(b)).entries()) {
      const x = margin + layer * (boxWidth + gapX);
      placed.set(task.id, { task, x, y: head + row * (boxHeight + gapY) });
    }
  }
  return placed;
}

function boxOf({ task, x, y }: Placed): string {
  const color = colorOf(tones[task.status]);
  const short = (text: string, most: number): string =>
    escaped(text.length > most ? `${text.slice(0, most - 1)}…` : text);
  return [
    `<g><title>${escaped(`${task.id}: ${fateText(task)}`)}</title>`,
    `<rect x="${x}" y="${y}" width="${boxWidth}" height="${boxHeight}" rx="7" fill="${color}" fill-opacity="0.1" stroke="${color}" stroke-width="1.5"/>`,
    `<text x="${x + 12}" y="${y + 22}">${marks[task.status]} ${short(task.id, 22)}</text>`,
    `<text class="s" x="${x + 12}" y="${y + 41}">${short(fateText(task), 30)}</text></g>`,
  ].join('');
}

function edgeOf(from: Placed, to: Placed): string {
  const [x1, y1] = [from.x + boxWidth, from.y + boxHeight / 2];
  const [x2, y2] = [to.x - 7, to.y + boxHeight / 2];
  const bend = gapX / 2;
  return `<path class="e" marker-end="url(#a)" d="M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}"/>`;
}

const arrow =
  '<defs><marker id="a" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#7a7f87"/></marker></defs>';

export function dagSvg(session: string, tasks: readonly DagTask[]): string {
  const placed = placedIn(tasks);
  const all = [...placed.values()];
  const edges = all.flatMap((to) =>
    to.task.needs.flatMap((need) => {
      const from = placed.get(need);
      return from === undefined ? [] : [edgeOf(from, to)];
    }),
  );
  const size = {
    width: margin + Math.max(0, ...all.map(({ x }) => x + boxWidth)),
    height: margin + Math.max(0, ...all.map(({ y }) => y + boxHeight)),
    title: `Tasks of session ${session}`,
  };
  const title = `<text x="${margin}" y="22">${escaped(session)}</text>`;
  return svgOf(size, [arrow, title, ...edges, ...all.map(boxOf)]);
}
