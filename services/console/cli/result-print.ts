/** How the result of a goal is shown to a person. */

import type { GoalResult } from '../../client/result.ts';
import { dollars, duration } from './figures.ts';
import { plainMarkdown } from './markdown.ts';
import type { Followed } from './submit.ts';
import type { Terminal } from './terminal.ts';

type Usage = GoalResult['usage'];

/** `completed in 1.2 s, 310 tokens, $0`, or what went wrong and what to do. */
export function statusLine(terminal: Terminal, followed: Followed): string {
  const { green, red, bold } = terminal.colors;
  const { result, elapsedMs, repeated } = followed;
  const { status, error, usage, takenBy } = result;
  const paint = status === 'completed' ? green : red;
  const spent = spentText(usage);
  const ended = result.endedAt.replace('T', ' ').slice(0, 19);
  const when = repeated ? `at ${ended} UTC, asked for before` : `in ${duration(elapsedMs)}`;
  const lines = [`${paint(bold(status))} ${when}${spent}`];
  if (takenBy !== undefined) {
    const { session, task } = takenBy;
    lines.push(
      `It woke the loop "${task}" of session ${session}: longrein session show ${session}`,
    );
  }
  if (error !== undefined) {
    const where = error.task ?? error.field;
    lines.push(`${error.message}${where === undefined ? '' : ` (${where})`} [${error.code}]`);
    if (error.fix !== undefined) lines.push(`${bold('fix')}  ${error.fix}`);
  }
  return `${lines.join('\n')}\n`;
}

function spentText({ inputTokens, outputTokens, costNanoUsd, costKnown }: Usage): string {
  const tokens = inputTokens + outputTokens;
  const isKnown = costKnown !== false;
  if (tokens === 0 && isKnown) return '';
  const cost = dollars(costNanoUsd);
  return `, ${tokens} tokens, ${isKnown ? cost : `at least ${cost} (cost of some model calls unknown)`}`;
}

/** The output of a goal: a report as text where it has one, else JSON. */
export function outputText(terminal: Terminal, output: unknown): string {
  if (output === undefined) return '';
  if (typeof output === 'string') return `${output}\n`;
  const markdown = markdownIn(output);
  if (markdown === undefined) return `${JSON.stringify(output, null, 2)}\n`;
  const widthMax = Math.min(terminal.columns, 100);
  return plainMarkdown(markdown, { heading: terminal.colors.bold, widthMax });
}

function markdownIn(output: unknown): string | undefined {
  if (typeof output !== 'object' || output === null || !('markdown' in output)) return undefined;
  return typeof output.markdown === 'string' ? output.markdown : undefined;
}
