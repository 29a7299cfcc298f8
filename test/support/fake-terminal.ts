import pico from 'picocolors';
import type { Terminal } from '../../services/console/cli/terminal.ts';

export type FakeTerminal = Terminal & { stdout: string; stderr: string };

/** A terminal that keeps what is written; no streams of the process are touched. */
export function fakeTerminal(outIsTty = false): FakeTerminal {
  const colors = pico.createColors(false);
  const terminal: FakeTerminal = {
    stdout: '',
    stderr: '',
    out: (text) => {
      terminal.stdout += text;
    },
    err: (text) => {
      terminal.stderr += text;
    },
    outIsTty,
    errIsTty: false,
    columns: 100,
    colors,
    errColors: colors,
  };
  return terminal;
}
