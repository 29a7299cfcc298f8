import { setTimeout as sleep } from 'node:timers/promises';
import { toError } from '../../services/chassis/errors.ts';
import { serviceNames } from '../../services/main.ts';
import { type Dice, diceOf } from '../simulation/world/dice.ts';
import { Deck } from './deck.ts';
import type { Disturbance } from './disturbance.ts';
import { HostSlot } from './host-slot.ts';
import { livingServers } from './mcp-servers.ts';
import type { Stage } from './stage.ts';

type Parts = Readonly<{
  stage: Stage;
  slots: readonly HostSlot[];
  seed: number;
  /** Between two disturbances, on average. */
  paceMs: number;
  /** Between two requests that a proxy spoils, on average. */
  spoilMs: number;
  say(line: string): void;
}>;

/** Longer than the session time-out of the groups: the others go on without it. */
const frozenMs = 9_000;
const guestsMax = 2;

/** Those that a process of this slot runs, without their behaviour versions. */
const servicesIn = ({ services }: HostSlot): readonly string[] =>
  services.includes('all') ? serviceNames : services.map((name) => name.replace(/:.*/, ''));

/** Where most services run that no kill has met yet; every slot where each has been met. */
function mostSpared(
  slots: readonly HostSlot[],
  killed: ReadonlyMap<string, number>,
): readonly HostSlot[] {
  const free = slots.filter(({ busy }) => !busy);
  const spared = (slot: HostSlot): number =>
    servicesIn(slot).filter((name) => !killed.has(name)).length;
  const most = Math.max(...free.map(spared));
  return free.filter((slot) => spared(slot) === most);
}

/** Does one thing after another to the processes of a stage, at random by seed, and brings each back after a while. */
export class Disturber {
  readonly counts = new Map<Disturbance, number>();
  /** Kills of hosts, by service that ran in them. */
  readonly killedServices = new Map<string, number>();
  private readonly parts: Parts;
  private readonly dice: Dice;
  private readonly guests: HostSlot[] = [];
  private readonly running = new Set<Promise<void>>();
  private readonly busy = new Set<string>();
  private stopped = false;
  private loop: Promise<unknown> = Promise.resolve();

  constructor(parts: Parts) {
    this.parts = parts;
    this.dice = diceOf(parts.seed, 'disturber');
  }

  start(): void {
    this.loop = Promise.all([this.run(), this.spoilOn()]);
  }

  /** Does no more, and waits until all is back. */
  async stop(): Promise<void> {
    this.stopped = true;
    await this.loop;
    await Promise.all(this.running);
    for (const proxy of this.parts.stage.cluster.proxies.values()) proxy.disarm();
    await Promise.all(this.guests.splice(0).map(({ host }) => host.stop()));
  }

  private async run(): Promise<void> {
    const deck = new Deck(this.dice);
    while (!this.stopped) {
      await sleep(this.dice.between(this.parts.paceMs * 0.6, this.parts.paceMs * 1.4));
      if (this.stopped) return;
      deck.next((kind) => this.begin(kind), this.running.size === 0);
    }
  }

  /** False where there is nothing now to which it could be done. */
  private begin(kind: Disturbance): boolean {
    const action = this.actionOf(kind);
    if (action === undefined) return false;
    const done = action()
      .catch((thrown: unknown) => this.parts.say(`${kind}: ${toError(thrown).message}`))
      .finally(() => this.running.delete(done));
    this.running.add(done);
    return true;
  }

  private done(kind: Disturbance, what: string): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    this.parts.say(`${kind}: ${what}`);
  }

  private actionOf(kind: Disturbance): (() => Promise<void>) | undefined {
    switch (kind) {
      case 'kill host':
        return this.onSlot(mostSpared(this.parts.slots, this.killedServices), (slot) =>
          this.killHost(slot),
        );
      case 'freeze host':
        return this.onSlot(this.parts.slots, (slot) => this.freezeHost(slot));
      case 'kill broker':
        return this.alone('broker', () => this.killBroker());
      case 'kill registry':
        return this.alone('registry', () => this.killRegistry());
      case 'kill ClickHouse':
        return this.alone('clickhouse', () => this.killClickhouse());
      case 'kill MCP server':
        return this.killServer();
      case 'member joins':
        return this.guests.length < guestsMax ? () => this.join() : undefined;
      case 'member leaves':
        return this.onSlot(this.guests, (slot) => this.leave(slot));
      default:
        return undefined;
    }
  }

  private onSlot(
    slots: readonly HostSlot[],
    act: (slot: HostSlot) => Promise<void>,
  ): (() => Promise<void>) | undefined {
    const free = slots.filter(({ busy }) => !busy);
    if (free.length === 0) return undefined;
    const slot = this.dice.pick(free);
    slot.busy = true;
    return () =>
      act(slot).finally(() => {
        slot.busy = false;
      });
  }

  private alone(name: string, act: () => Promise<void>): (() => Promise<void>) | undefined {
    if (this.busy.has(name)) return undefined;
    this.busy.add(name);
    return () => act().finally(() => this.busy.delete(name));
  }

  private async killHost(slot: HostSlot): Promise<void> {
    const awayMs = this.dice.between(0, 4_000);
    await slot.host.kill();
    for (const service of servicesIn(slot)) {
      this.killedServices.set(service, (this.killedServices.get(service) ?? 0) + 1);
    }
    this.done('kill host', `${slot.host.name} (${slot.services.join(' ')}), away ${awayMs} ms`);
    await sleep(awayMs);
    await slot.restart();
    await slot.host.started();
  }

  private async freezeHost(slot: HostSlot): Promise<void> {
    if (!(await slot.host.isAlive())) return;
    slot.host.freeze();
    this.done('freeze host', `${slot.host.name} (${slot.services.join(' ')})`);
    await sleep(frozenMs + this.dice.between(0, 3_000));
    slot.host.thaw();
  }

  private async killBroker(): Promise<void> {
    const { cluster } = this.parts.stage;
    const id = this.dice.pick(cluster.ids);
    const awayMs = this.dice.between(500, 6_000);
    // Two at once would leave too few copies to write to.
    if (!(await cluster.inSync(30_000))) throw new Error('the copies did not get in step');
    await cluster.kill(id);
    this.done('kill broker', `broker ${id}, away ${awayMs} ms`);
    await sleep(awayMs);
    await cluster.restart(id);
    if (!(await cluster.inSync(60_000))) throw new Error(`broker ${id} did not catch up`);
  }

  private async killRegistry(): Promise<void> {
    await this.parts.stage.killRegistry();
    this.done('kill registry', 'registry');
    await sleep(this.dice.between(0, 3_000));
    await this.parts.stage.startRegistry();
  }

  private async killClickhouse(): Promise<void> {
    await this.parts.stage.killClickhouse();
    this.done('kill ClickHouse', 'ClickHouse');
    await sleep(this.dice.between(0, 4_000));
    await this.parts.stage.startClickhouse();
  }

  private killServer(): (() => Promise<void>) | undefined {
    const living = livingServers(this.parts.stage.dir);
    if (living.length === 0) return undefined;
    const pid = this.dice.pick(living);
    return async () => {
      process.kill(pid, 'SIGKILL');
      this.done('kill MCP server', `pid ${pid}`);
    };
  }

  private async join(): Promise<void> {
    const services = [this.dice.pick(['all', ...serviceNames])];
    const slot = await HostSlot.open(this.parts.stage, services);
    this.guests.push(slot);
    this.done('member joins', `${slot.host.name} (${services.join(' ')})`);
  }

  private async leave(slot: HostSlot): Promise<void> {
    this.guests.splice(this.guests.indexOf(slot), 1);
    const outcome = await slot.host.stop();
    this.done('member leaves', `${slot.host.name} ${outcome}`);
  }

  /** Spoils one request after the other, cutting and omitting in turn. */
  private async spoilOn(): Promise<void> {
    const { spoilMs, stage } = this.parts;
    for (let count = 0; !this.stopped; count += 1) {
      const proxy = this.dice.pick([...stage.cluster.proxies.values()]);
      const before = proxy.struck.length;
      proxy.arm(count % 2 === 0 ? 'cut' : 'omit', isOfSessions);
      const untilMs = Date.now() + spoilMs;
      while (!this.stopped && Date.now() < untilMs) await sleep(20);
      const struck = proxy.struck.length > before;
      if (struck) this.done(count % 2 === 0 ? 'cut connection' : 'omit partition', `${proxy.port}`);
      proxy.disarm();
    }
  }
}

/** Only what belongs to sessions is worth losing; heartbeats would take most of the strikes. */
const isOfSessions = (partition: string): boolean =>
  /^longrein\.(sessions\.|keys|results)/.test(partition);
