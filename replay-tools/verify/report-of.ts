import { isPlaced, type JudgedSession } from '../read/session.ts';
import type { Findings, VerifyReport } from './report.ts';

/** What is said of a verified session in the end. */

const statuses = { closed: 'closed', open: 'running' } as const;

function statusOf({ core }: JudgedSession): VerifyReport['status'] {
  return core.status === 'closed' || core.status === 'open' ? statuses[core.status] : 'unknown';
}

function countsOf(judged: JudgedSession, findings: Findings): VerifyReport['counts'] {
  const { records, others } = judged;
  const kinds = (kind: string): number =>
    records.filter(({ record }) => record.header.kind === kind).length;
  const verdicts = (verdict: string): number =>
    records.filter((one) => one.verdict === verdict).length;
  const services = Object.values(findings.byService);
  const sum = (name: 'decisions' | 'hashOnly'): number =>
    services.reduce((total, one) => total + one[name], 0);
  return {
    records: records.length,
    turns: kinds('turn'),
    inputs: kinds('input'),
    checkpoints: kinds('checkpoint'),
    events: records.reduce((total, { step }) => total + (step?.events.length ?? 0), 0),
    decisions: sum('decisions'),
    hashOnly: sum('hashOnly'),
    contents: findings.contents,
    ignored: verdicts('ignored'),
    void: verdicts('void'),
    others,
  };
}

function releasesOf({ records }: JudgedSession): readonly string[] {
  const releases = new Set<string>();
  for (const { record } of records)
    if (isPlaced(record) && record.body.kind === 'turn') releases.add(record.body.release);
  return [...releases];
}

/** Who had the contents erased, by the record of it. */
function erasures({ records }: JudgedSession): string[] {
  return records.flatMap(({ record }) => {
    if (!isPlaced(record) || record.body.kind !== 'input') return [];
    const { event, atMs } = record.body;
    if (event.type !== 'session.erased') return [];
    const { by, reason } = event.data;
    const when = new Date(atMs).toISOString();
    return [
      `${String(by)} had the contents erased at ${when}: ${String(reason)}; acceptance, ids, hashes and accounts were checked, decisions by hash only`,
    ];
  });
}

function sourceWarnings(judged: JudgedSession): string[] {
  const { source, core, restoredAt } = judged;
  const warnings = erasures(judged);
  const isKnown = Object.keys(source.acceptance).length > 0;
  const owners = isKnown ? '' : ', and which owner was current there is not known';
  if (!source.whole)
    warnings.push(
      `${source.origin} begins at offset ${source.from}: what was before is gone${owners}`,
    );
  if (restoredAt !== undefined)
    warnings.push(
      `the beginning of the session was cut by retention: it is verified from a checkpoint that knew all up to offset ${restoredAt}`,
    );
  if (core.status === 'unknown')
    warnings.push('the beginning of the session is not there: nothing could be decided again');
  return warnings;
}

/** The report over what was found. */
export function reportOf(judged: JudgedSession, findings: Findings): VerifyReport {
  const { session, topic, partition, origin } = judged.source;
  const differences = findings.differences.toSorted((a, b) => a.offset - b.offset);
  const counts = countsOf(judged, findings);
  const status = statusOf(judged);
  return {
    ...{ session, tenant: judged.core.meta.tenant, topic, partition, origin, status },
    identical: differences.length === 0,
    complete: status !== 'unknown' && counts.hashOnly === 0,
    counts,
    services: findings.byService,
    releases: releasesOf(judged),
    hashed: findings.hashed,
    differences,
    warnings: [...sourceWarnings(judged), ...findings.allWarnings],
  };
}
