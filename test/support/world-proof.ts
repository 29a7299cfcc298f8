import { join } from 'node:path';
import { expect } from 'vitest';
import {
  effectiveEvents,
  type JudgedSession,
  judgeSession,
} from '../../replay-tools/read/session.ts';
import { reportLines } from '../../replay-tools/verify/report-text.ts';
import { verifySession } from '../../replay-tools/verify/verify.ts';
import type { EventType, SeenEvent } from '../../schemas/event.ts';
import type { Catalog } from '../../services/chassis/catalog/catalog.ts';
import { requireCatalog } from '../../services/chassis/catalog/load.ts';
import { packageRoot } from '../../services/chassis/config/package-root.ts';
import { catalogDirectory } from './catalog-directory.ts';
import type { MemoryWorld, Published } from './memory-world.ts';
import { sourceFromWorld } from './world-session.ts';

/** What the log of a simulated world says of one session, for assertions. */
export class WorldProof {
  readonly judged: JudgedSession;
  readonly events: readonly SeenEvent[];

  private constructor(judged: JudgedSession) {
    this.judged = judged;
    this.events = effectiveEvents(judged);
  }

  /** Reads the session. Every decision, computed again, has to be the recorded one. */
  static async of(world: MemoryWorld, { session }: Published): Promise<WorldProof> {
    const source = await sourceFromWorld(world, session);
    const report = await verifySession(source);
    expect(report, reportLines(report).join('\n')).toMatchObject({ identical: true });
    return new WorldProof(await judgeSession(source));
  }

  /** Events of this type that count, in the order of the log. */
  all<T extends EventType>(type: T): readonly SeenEvent<T>[] {
    return this.events.filter((one): one is SeenEvent & SeenEvent<T> => one.type === type);
  }

  /** Types of events in the order of the log, of those that are asked for. */
  order(...types: readonly EventType[]): readonly EventType[] {
    return this.events.flatMap(({ type }) => (types.includes(type) ? [type] : []));
  }

  /** How many records with an event of this type bring nothing, by the reason. */
  ignored(type: EventType): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { record, verdict, ignored } of this.judged.records) {
      if (verdict !== 'ignored' || !record.header.types.includes(type)) continue;
      const reason = ignored ?? 'nothing';
      counts[reason] = (counts[reason] ?? 0) + 1;
    }
    return counts;
  }
}

/** The catalog of a simulated world with files of a test beside it. */
export function catalogWith(files: Readonly<Record<string, string>>): Catalog {
  const usual = ['deploy/examples', 'test/fixtures/catalog', 'test/fixtures/memory-world'];
  const directories = usual.map((path) => join(packageRoot, path));
  return requireCatalog([...directories, catalogDirectory(files)]);
}

/** How often a tool or model was really started. */
export const startsOf = (world: MemoryWorld, name: string): number =>
  world.started.filter((one) => one.name === name).length;

/** What became of each goal, by its id. */
export const statusesOf = (world: MemoryWorld): Readonly<Record<string, unknown>> =>
  Object.fromEntries(world.results().map(({ goalId, status }) => [String(goalId), status]));
