import { reportLines } from '../../../replay-tools/verify/report-text.ts';
import { verifySession } from '../../../replay-tools/verify/verify.ts';
import type { Evidence, Violation } from './evidence.ts';

const sameRule = 'every decision, computed again from the log, is the recorded one';
const endRule = 'every session that was opened is closed';

/** Logs that live as long as the installation: those of keys and of what the event store has stored. */
const isLasting = (session: string): boolean => /^(key|sink)_/.test(session);

export async function sessionsVerified({ sessions }: Evidence): Promise<readonly Violation[]> {
  const violations: Violation[] = [];
  for (const { source, core } of sessions) {
    const report = await verifySession(source);
    const detail = reportLines(report).join('\n    ');
    if (!report.identical) violations.push({ rule: sameRule, detail });
    if (core.status === 'open' && !isLasting(source.session))
      violations.push({ rule: endRule, detail: `${source.session} in ${source.origin}` });
  }
  return violations;
}
