import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { packageRoot } from '../../services/chassis/config/package-root.ts';
import { effectLines } from './checks/effects-in-ledger.ts';
import { gatherEvidence, type Violation } from './checks/evidence.ts';
import { logViolations } from './checks/log-rules.ts';
import { GoalStorm } from './goal-storm.ts';
import type { HostProcess } from './host-process.ts';
import { ResultTail } from './result-tail.ts';
import { Stage } from './stage.ts';

/** A stage with one broker for a test of its own: hosts, goals and results, without an event store. */
export class Scene {
  readonly stage: Stage;
  readonly storm: GoalStorm;
  readonly results: ResultTail;
  readonly first: HostProcess;

  private constructor(parts: Pick<Scene, 'stage' | 'storm' | 'results' | 'first'>) {
    this.stage = parts.stage;
    this.storm = parts.storm;
    this.results = parts.results;
    this.first = parts.first;
  }

  /** With a first host of these services, ready. */
  static async open(
    services: readonly string[] = ['all'],
    options: Readonly<{ partitions?: number; goalsPerSecond?: number }> = {},
  ): Promise<Scene> {
    const dir = mkdtempSync(join(tmpdir(), 'longrein-scene-'));
    const catalog = [join(packageRoot, 'test/fixtures/torture')];
    const { partitions = 12, goalsPerSecond = 1 } = options;
    const stage = await Stage.open({ dir, catalog, brokers: 1, partitions, clickhouse: false });
    const first = await (await stage.startHost(services)).ready();
    const brokers = stage.cluster.inside;
    const storm = await GoalStorm.open({ brokers, seed: 1, perSecond: goalsPerSecond });
    return new Scene({ stage, storm, first, results: await ResultTail.open(brokers) });
  }

  /** Runs of the tools so far, as they wrote them down. */
  get effects(): ReturnType<typeof effectLines> {
    return effectLines(this.stage.dir);
  }

  /** Waits until the tools have written so many lines. */
  async effectsReach(count: number, withinMs: number): Promise<void> {
    const endMs = Date.now() + withinMs;
    while (this.effects.length < count) {
      if (Date.now() > endMs) throw new Error(`${this.effects.length} of ${count} calls were made`);
      await sleep(20);
    }
  }

  /** Calls that wait at the gate may end. */
  openGate(): void {
    writeFileSync(join(this.stage.dir, 'gate-open'), '');
  }

  /** What is wrong with results, side effects and log, once every goal should have ended. */
  async violations(): Promise<readonly Violation[]> {
    const { stage, storm, results } = this;
    const { dir, blobDir } = stage;
    const place = { brokers: stage.cluster.inside, blobDir, dir };
    const found = { goals: storm.goals, results: results.byGoal };
    return logViolations(await gatherEvidence(place, found));
  }

  async close(): Promise<void> {
    await Promise.all([this.storm.close(), this.results.close()]);
    await this.stage.close();
    rmSync(this.stage.dir, { recursive: true });
  }
}
