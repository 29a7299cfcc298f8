/** `name=value` as options take them. Pure. */
import { UsageError } from './exit-code.ts';

/** Throws UsageError for one without a name. */
export function pairsOf(texts: readonly string[]): Record<string, string> {
  const pairs = texts.map((text) => {
    const [, name, value] = /^(\w+)=(.*)$/s.exec(text) ?? [];
    if (name !== undefined && value !== undefined) return [name, value] as const;
    throw new UsageError(`"${text}" is no parameter`, 'Write it as name=value.');
  });
  return Object.fromEntries(pairs);
}
