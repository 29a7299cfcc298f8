/** The example of docs/models-and-budgets.md: its files, and what it says happens. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SeenEvent } from '../../schemas/event.ts';
import { packageRoot } from '../../services/chassis/config/package-root.ts';

const page = readFileSync(join(packageRoot, 'docs/models-and-budgets.md'), 'utf8');

/** The file of this name as the page shows it. */
export function shownFile(name: string): string {
  const found = new RegExp(`\`\`\`yaml\\n# ${name}\\n([\\s\\S]*?)\`\`\``).exec(page)?.[1];
  if (found === undefined) throw new Error(`the page shows no ${name}`);
  return found;
}

/** What happens to the example's call, as the page lists it. */
export const shownListing = /<!-- example -->\n```\n([\s\S]*?)```/.exec(page)?.[1] ?? '';

function line(seen: SeenEvent): string | undefined {
  const row = (model: string, said: string) =>
    `${seen.type.padEnd(20)} ${model.padEnd(14)} ${said}`;
  switch (seen.type) {
    case 'model.claimed': {
      const { model, because = '', passedOver = [] } = seen.data;
      const passed = passedOver.map((one) => `, passed over ${one.model}: ${one.because}`);
      return row(model, because + passed.join(''));
    }
    case 'model.attempt-failed':
      return row(seen.data.model, seen.data.code);
    case 'budget.reserved':
      if (seen.data.reservedNanoUsd === 0) return undefined;
      return `${seen.type.padEnd(20)} ${seen.data.reservedNanoUsd} of today's money`;
    case 'model.completed':
      return row(`${seen.data.provider}/${seen.data.model}`, `${seen.data.costNanoUsd} nano-USD`);
    default:
      return undefined;
  }
}

/** The model calls of a session in the form in which the page lists them. */
export const listingOf = (events: readonly SeenEvent[]): string =>
  events
    .flatMap((one) => line(one) ?? [])
    .map((one) => `${one}\n`)
    .join('');
