/** What the log of a host says about its start. Pure. */

export interface HostNews {
  /** The process with this pid said that it owns its partitions. */
  readonly ready: boolean;
  /** Why it ended, if it said so. */
  readonly fatal:
    | { readonly code: string; readonly message: string; readonly fix: string }
    | undefined;
  /** What it waits for, by its newest warning. */
  readonly waiting: string | undefined;
}

type Line = Readonly<Record<string, unknown>>;

const textIn = (line: Line, name: string): string => {
  const value = line[name];
  return typeof value === 'string' ? value : '';
};

/** Reads what a host wrote since it was started. Lines that are not JSON are passed over. */
export function readHostLog(text: string, pid: number): HostNews {
  let news: HostNews = { ready: false, fatal: undefined, waiting: undefined };
  for (const line of text.split('\n')) {
    const parsed = parseLine(line);
    if (parsed !== undefined) news = heard(news, parsed, pid);
  }
  return news;
}

function parseLine(line: string): Line | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as Line;
  } catch {
    // The last line may be half written.
    return undefined;
  }
}

function heard(news: HostNews, line: Line, pid: number): HostNews {
  if (line['event'] === 'ready' && line['pid'] === pid) return { ...news, ready: true };
  const message = textIn(line, 'msg');
  if (message === 'host ends') {
    const code = textIn(line, 'code') || 'HOST_ENDED';
    return { ...news, fatal: { code, message: textIn(line, 'error'), fix: textIn(line, 'fix') } };
  }
  if (!message.startsWith('waiting for ')) return news;
  return { ...news, waiting: [message, textIn(line, 'error')].filter(Boolean).join(': ') };
}
