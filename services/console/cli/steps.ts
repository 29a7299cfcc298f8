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

const nameWidth = 12;
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
  const steps = terminal.errIsTty ? await movingSteps(terminal, names) : plainSteps(terminal);
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

const tenths = 10;

function plainSteps(terminal: Terminal): Steps {
  let told = -1;
  const say = (name: string, text: string): void =>
    terminal.err(`${name.padEnd(nameWidth)}${text}\n`);
  const report = (event: StackEvent): void => {
    if (event.kind === 'note') return say('note', event.text);
    if (event.kind === 'step') {
      return say(event.name, event.state === 'ready' ? `ready, ${event.detail}` : stepText(event));
    }
    const { label, doneBytes, totalBytes } = event;
    const part = Math.floor((tenths * doneBytes) / Math.max(1, totalBytes));
    if (part === told) return;
    told = part;
    say('download', progressText(label, doneBytes, totalBytes));
  };
  return { report, end: () => Promise.resolve() };
}

interface Row {
  title: string;
  output: string;
  resolve(): void;
  reject(error: Error): void;
  readonly settled: Promise<void>;
}

function newRow(): Row {
  let resolve = (): void => undefined;
  let reject = (_: Error): void => undefined;
  const promise = new Promise<void>((accept, refuse) => {
    resolve = accept;
    reject = refuse;
  });
  promise.catch(() => undefined);
  return { title: '', output: '', resolve, reject, settled: promise };
}

async function movingSteps(terminal: Terminal, names: readonly string[]): Promise<Steps> {
  const { Listr, ListrLogger, ProcessOutput } = await import('listr2');
  const { dim } = terminal.errColors;
  const rows = new Map(names.map((name) => [name, newRow()]));
  const output = new ProcessOutput(process.stderr, process.stderr);
  const list = new Listr(
    [...rows].map(([name, row]) => ({
      title: name,
      task: (_: unknown, task: Row) => {
        follow(row, task, name);
        return row.settled;
      },
    })),
    {
      concurrent: true,
      exitOnError: false,
      registerSignalListeners: false,
      rendererOptions: {
        logger: new ListrLogger({ useIcons: false, processOutput: output }),
        showErrorMessage: false,
        collapseErrors: false,
      },
    },
  );
  const running = list.run();
  return {
    report: (event) => show(rows, event, dim),
    async end(failed) {
      for (const row of rows.values()) {
        if (failed) row.reject(new Error('not finished'));
        else row.resolve();
      }
      await running;
    },
  };
}

/** From now on what is written to the row is written to its task. */
function follow(row: Row, task: { title: string; output: string }, name: string): void {
  Object.defineProperties(row, {
    title: { set: (text: string) => void (task.title = `${name.padEnd(nameWidth)}${text}`) },
    output: { set: (text: string) => void (task.output = text) },
  });
}

function show(
  rows: ReadonlyMap<string, Row>,
  event: StackEvent,
  dim: (text: string) => string,
): void {
  const [first] = rows.values();
  if (event.kind === 'progress') {
    const { label, doneBytes, totalBytes } = event;
    if (first) first.output = progressText(label, doneBytes, totalBytes);
    return;
  }
  if (event.kind === 'note') {
    const row = rows.get('services') ?? first;
    if (row) row.output = event.text;
    return;
  }
  const row = rows.get(event.name);
  if (row === undefined) return;
  row.title = dim(stepText(event));
  if (settled.has(event.state)) row.resolve();
}
