/**
 * Shows the steps of long work on standard error: a list that moves on a terminal, plain lines
 * elsewhere. Steps are told as the local stack tells them (deploy/local/report.ts).
 */
import type { Report, StackEvent } from '../../../deploy/local/report.ts';
import { bytes } from './figures.ts';
import type { Terminal } from './terminal.ts';

export interface Steps {
  readonly report: Report;
  /** Ends the display; what did not settle is shown as failed if `failed`. */
  end(failed: boolean): Promise<void>;
}

type Step = Extract<StackEvent, { kind: 'step' }>;

const nameWidthMin = 12;

const widthFor = (names: readonly string[]): number =>
  Math.max(nameWidthMin, ...names.map((name) => name.length + 2));

const settled: ReadonlySet<string> = new Set([
  'ready',
  'kept',
  'given',
  'stopped',
  'killed',
  'gone',
]);

/** Runs the work with a display that names these steps from the start. */
export async function withSteps<T>(
  terminal: Terminal,
  names: readonly string[],
  work: (report: Report) => Promise<T>,
): Promise<T> {
  const steps = terminal.errIsTty
    ? await movingSteps(terminal, names)
    : plainSteps(terminal, widthFor(names));
  try {
    const result = await work(steps.report);
    await steps.end(false);
    return result;
  } catch (thrown) {
    await steps.end(true);
    throw thrown;
  }
}

/** What a step says of itself, apart from its name. */
export function stepText({ state, detail }: Pick<Step, 'state' | 'detail'>): string {
  if (state === 'ready') return detail;
  const words = { kept: 'runs already', given: 'given' } as const;
  const word = state === 'kept' || state === 'given' ? words[state] : state;
  return detail === '' ? word : `${word}, ${detail}`;
}

/** `downloading by Maven  12.0 of 44.1 MB (27 %)`. */
export function progressText(label: string, doneBytes: number, totalBytes: number): string {
  const share = totalBytes === 0 ? 100 : Math.floor((100 * doneBytes) / totalBytes);
  return `${label}  ${bytes(doneBytes)} of ${bytes(totalBytes)} (${share} %)`;
}

const plainText = (step: Step): string =>
  step.state === 'ready' ? `ready, ${step.detail}` : stepText(step);

const tenths = 10;

function plainSteps(terminal: Terminal, nameWidth: number): Steps {
  let told = -1;
  const say = (name: string, text: string): void =>
    terminal.err(`${name.padEnd(nameWidth)}${text}\n`);
  const report = (event: StackEvent): void => {
    if (event.kind === 'note') say('note', event.text);
    else if (event.kind === 'step') say(event.name, plainText(event));
    else {
      const { label, doneBytes, totalBytes } = event;
      const part = Math.floor((tenths * doneBytes) / Math.max(1, totalBytes));
      if (part !== told) say('download', progressText(label, doneBytes, totalBytes));
      told = part;
    }
  };
  return { report, end: () => Promise.resolve() };
}

/** What Listr shows of a step; both can be written while it runs. */
interface Shown {
  title: string;
  output: string;
}

interface Row extends Shown {
  readonly name: string;
  /** There once Listr has begun the step. */
  task: Shown | undefined;
  resolve(): void;
  reject(error: Error): void;
  readonly settled: Promise<void>;
}

function newRow(name: string): Row {
  let resolve = (): void => undefined;
  let reject = (_: Error): void => undefined;
  const settled = new Promise<void>((accept, refuse) => {
    resolve = accept;
    reject = refuse;
  });
  // A row that Listr has not begun yet may be given up: that is not unhandled.
  settled.catch(() => undefined);
  return { name, title: name, output: '', task: undefined, resolve, reject, settled };
}

function write(row: Row, shown: Partial<Shown>): void {
  Object.assign(row, shown);
  if (row.task === undefined) return;
  row.task.title = row.title;
  if (row.output !== '') row.task.output = row.output;
}

async function movingSteps(terminal: Terminal, names: readonly string[]): Promise<Steps> {
  const { Listr, ListrLogger, ProcessOutput } = await import('listr2');
  const { dim } = terminal.errColors;
  const nameWidth = widthFor(names);
  const rows = new Map(names.map((name) => [name, newRow(name)]));
  const processOutput = new ProcessOutput(process.stderr, process.stderr);
  const logger = new ListrLogger({ useIcons: false, processOutput });
  const list = new Listr<object, 'default', 'simple'>([], {
    concurrent: true,
    exitOnError: false,
    registerSignalListeners: false,
    rendererOptions: { logger, showErrorMessage: false, collapseErrors: false },
  });
  for (const row of rows.values()) {
    list.add({
      title: row.name,
      task: (_, task) => {
        row.task = task;
        write(row, {});
        return row.settled;
      },
    });
  }
  const running = list.run({});
  return {
    report: (event) => show(rows, event, { dim, nameWidth }),
    end: (failed) => endRows(rows, failed, running),
  };
}

async function endRows(
  rows: ReadonlyMap<string, Row>,
  failed: boolean,
  running: Promise<unknown>,
): Promise<void> {
  for (const row of rows.values()) {
    if (failed) row.reject(new Error('not finished'));
    else row.resolve();
  }
  await running;
}

function show(
  rows: ReadonlyMap<string, Row>,
  event: StackEvent,
  { dim, nameWidth }: { dim: (text: string) => string; nameWidth: number },
): void {
  const [first] = rows.values();
  if (event.kind === 'step') {
    const row = rows.get(event.name);
    if (row === undefined) return;
    write(row, { title: `${row.name.padEnd(nameWidth)}${dim(stepText(event))}` });
    if (settled.has(event.state)) row.resolve();
  } else if (event.kind === 'progress') {
    const { label, doneBytes, totalBytes } = event;
    if (first) write(first, { output: progressText(label, doneBytes, totalBytes) });
  } else {
    const row = rows.get('services') ?? first;
    if (row) write(row, { output: event.text });
  }
}
