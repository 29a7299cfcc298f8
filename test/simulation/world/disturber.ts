import { checkpointIn, commitIn, type PartitionSeen, partitionsOf, seenIn } from './probe.ts';
import type { Action, Schedule } from './schedule-shape.ts';
import { Triggers } from './triggers.ts';
import type { SimulatedHost, SimulatedWorld } from './world.ts';

type Of<K extends Action['do']> = Extract<Action, { do: K }>;
type OnVictim = Extract<Action, { victim: number }>;
type OnWorld = Exclude<Action, OnVictim>;
type Crashing = Of<'crash' | 'crash-appending' | 'crash-anywhere' | 'crash-delivering'>;
type Asking = Of<'rebalance' | 'checkpoint' | 'commit' | 'compare'>;

/** Most of what a host reads it has written itself, and knows already. */
const lostRecords = 10;

/** At most so many processes at once: more would only be slower. */
const hostsMax = 6;

/** Plays a schedule's actions on a world, and takes them back for the calm. */
export class Disturber {
  readonly seen: (PartitionSeen & { host: string })[] = [];
  readonly #world: SimulatedWorld;
  readonly #schedule: Schedule;
  /** Hosts that lost a record: somebody starts them anew. */
  readonly #gapped = new Set<SimulatedHost>();
  readonly #triggers: Triggers;

  constructor(world: SimulatedWorld, schedule: Schedule) {
    this.#world = world;
    this.#schedule = schedule;
    this.#triggers = new Triggers(world);
  }

  async play(): Promise<void> {
    const { clock } = this.#world;
    const startMs = clock.nowMs();
    for (const action of this.#schedule.actions) {
      if (this.#world.runaway) return;
      await clock.run(Math.max(0, startMs + action.atMs - clock.nowMs()));
      await this.#act(action);
    }
    await clock.run(Math.max(0, startMs + this.#schedule.calmAtMs - clock.nowMs()));
    await this.#makeUp();
  }

  /** Every schedule has a crash and a zombie: where none found a victim in its time, they come at the end. */
  async #makeUp(): Promise<void> {
    const happened = [...this.#world.coverage.keys()];
    const none = (what: string): boolean => !happened.some((name) => name.startsWith(what));
    if (this.#world.hosts.length === 0)
      await this.#world.startHost(['all'], { skewMs: 0, release: 'a' });
    const [first] = this.#world.hosts;
    if (first !== undefined && none('fault zombie'))
      this.#expel(first, { forMs: 1_500, deafMs: 0, dies: false });
    await this.#world.clock.run(1_000);
    const last = this.#world.hosts.at(-1);
    if (last !== undefined && none('fault crash')) this.#world.kill(last, 'fault crash');
  }

  /** Nothing goes wrong any more, and for every service there is a host that is well. */
  async calm(): Promise<void> {
    const { network, hosts } = this.#world;
    network.calm = true;
    network.brokerAway = false;
    network.blobsAway = false;
    network.silent.clear();
    this.#triggers.calm();
    for (const victim of this.#gapped) this.#world.kill(victim, 'fault crash');
    for (const { process, log } of hosts) {
      process.spare();
      process.thaw();
      log.hear();
      log.rejoin();
    }
    const running = new Set(
      hosts.flatMap(({ host }) => host['options'].services.map(({ logic }) => logic.name)),
    );
    const needed = this.#schedule.store === true ? ['event-store'] : [];
    needed.push('intake', 'planner', 'supervisor', 'aggregator', 'tool-guard', 'tool-runner');
    needed.push('sandbox-executor', 'model-gateway', 'worker-pool.test', 'worker-pool.analysis');
    const short = needed.some((service) => !running.has(service));
    const all = this.#schedule.store === true ? ['all', 'event-store'] : ['all'];
    if (short || this.#schedule.freshHost)
      await this.#world.startHost(all, { skewMs: 0, release: 'a' });
  }

  look(host: string, seen: PartitionSeen | undefined): void {
    if (seen === undefined) return;
    this.#world.note('state compared');
    this.seen.push({ ...seen, host });
  }

  async #act(action: Action): Promise<void> {
    if (!('victim' in action)) return this.#change(action);
    const victim = this.#victim(action.victim);
    if (victim === undefined) return;
    this.#world.witness.note(victim.name, action.do);
    this.#disturb(victim, action);
  }

  async #change(action: OnWorld): Promise<void> {
    const { logFaults } = this.#world;
    switch (action.do) {
      case 'send':
        return this.#send(action);
      case 'start':
        return this.#start(action);
      case 'broker-away':
        return this.#away('brokerAway', 'fault broker away', action.forMs);
      case 'blobs-away':
        return this.#away('blobsAway', 'fault blobs away', action.forMs);
      case 'echo':
        return logFaults.echo(action.where, action.count);
      case 'strange':
        return logFaults.strange(action.where, action.kind);
      case 'freeze-running':
        return this.#triggers.atEffect((host) => this.#freezeRunning(host, action.forMs));
      case 'race':
        return this.#triggers.race(action.goalId, action.failed === true);
      case 'cancel-rejected':
        return this.#triggers.cancelRejected(action.goalId);
      case 'after-end':
        return this.#triggers.afterEnd(action.goalId, action.value);
    }
  }

  #victim(fraction: number): SimulatedHost | undefined {
    const { hosts } = this.#world;
    return hosts[Math.floor(fraction * hosts.length)];
  }

  #send({ goalId, value, kind }: Of<'send'>): void {
    const names = { goal: 'goal sent', repeat: 'goal repeated', cancel: 'goal cancelled' };
    const more = { 'cancel-first': 'goal cancelled first', poison: 'goal that kills' };
    this.#world.note({ ...names, ...more }[kind] ?? kind);
    if (value['key'] !== undefined) this.#world.note('goal of a key');
    if (value['plan'] === 'no-such-plan') this.#world.note('goal refused');
    this.#world.publish(goalId, value);
  }

  async #start({ services, skewMs, release = 'a' }: Of<'start'>): Promise<void> {
    if (this.#world.hosts.length >= hostsMax) return;
    const size = services.length > 1 ? 'several services' : 'one service';
    this.#world.note(`host of ${services.includes('all') ? 'all services' : size}`);
    this.#world.note('host started');
    if (skewMs !== 0) this.#world.note('fault clock skew');
    this.#world.note(`host of release ${release}`);
    await this.#world.startHost(services, { skewMs, release });
  }

  #away(what: 'brokerAway' | 'blobsAway', name: string, forMs: number): void {
    const { network, clock } = this.#world;
    this.#world.note(name);
    network[what] = true;
    clock.after(forMs, () => {
      network[what] = false;
    });
  }

  #disturb(victim: SimulatedHost, action: OnVictim): void {
    const { clock } = this.#world;
    switch (action.do) {
      case 'crash':
      case 'crash-appending':
      case 'crash-anywhere':
      case 'crash-delivering':
        this.#crash(victim, action);
        break;
      case 'jump':
        this.#world.note(`fault clock jump ${action.byMs > 0 ? 'forward' : 'back'}`);
        victim.process.jump(action.byMs);
        break;
      case 'stop':
        this.#stop(victim);
        break;
      case 'expel':
        this.#expel(victim, action);
        break;
      case 'freeze':
        this.#freeze(victim, action.forMs);
        break;
      case 'deafen':
        this.#world.note('fault slow reader');
        victim.log.deafen();
        clock.after(action.forMs, () => victim.log.hear());
        break;
      case 'lose-record':
        this.#loseRecord(victim, action.forMs);
        break;
      case 'silence':
        this.#silence(victim, action.forMs);
        break;
      default:
        this.#ask(victim, action);
    }
  }

  /** What is no fault: it may happen to any host at any time. */
  #ask(victim: SimulatedHost, action: Asking): void {
    const partitions = partitionsOf(victim.host);
    if (action.do === 'rebalance') {
      this.#world.note('fault rebalance');
      this.#world.cluster.rebalance(victim.host.group);
    } else if (action.do === 'compare')
      for (const partition of partitions) this.look(victim.name, seenIn(partition));
    else if (!victim.process.frozen) {
      // Hosts write checkpoints by themselves only for long sessions.
      this.#world.note(`${action.do} asked for`);
      if (action.do === 'commit') commitIn(victim.host);
      else for (const partition of partitions) checkpointIn(partition);
    }
  }

  #crash(victim: SimulatedHost, action: Crashing): void {
    const { name, process } = victim;
    switch (action.do) {
      case 'crash':
        this.#world.kill(victim, 'fault crash');
        return;
      case 'crash-appending':
        this.#triggers.dieAppending(name, { left: action.appends, afterMs: action.afterMs });
        return;
      case 'crash-delivering':
        this.#triggers.dieDelivering(name, action.afterMs);
        return;
      case 'crash-anywhere':
        process.doom(action.passes, () => this.#world.kill(victim, 'fault crash at an await'));
    }
  }

  #stop(victim: SimulatedHost): void {
    if (victim.process.frozen || !victim.started()) return;
    this.#world.note('host stopped');
    this.#world.stop(victim);
  }

  #expel(
    victim: SimulatedHost,
    { forMs, deafMs, dies }: Pick<Of<'expel'>, 'forMs' | 'deafMs' | 'dies'>,
  ): void {
    const { clock } = this.#world;
    this.#world.note(`fault zombie: expelled${deafMs > 0 ? ' and deaf' : ''}`);
    victim.log.expel();
    if (deafMs > 0) {
      victim.log.deafen();
      clock.after(deafMs, () => victim.log.hear());
    }
    clock.after(forMs, () => {
      if (dies && !this.#world.network.calm) this.#world.kill(victim, 'fault crash');
      else if (victim.process.alive) victim.log.rejoin();
    });
  }

  #freeze(victim: SimulatedHost, forMs: number): void {
    const { clock } = this.#world;
    const { process, log } = victim;
    const { sessionTimeoutMs } = this.#schedule;
    if (!process.alive || process.frozen) return;
    this.#world.note(forMs > sessionTimeoutMs ? 'fault zombie: frozen' : 'fault short freeze');
    process.freeze();
    clock.after(sessionTimeoutMs, () => {
      if (process.frozen) log.expel();
    });
    clock.after(forMs, () => this.#thaw(victim));
  }

  /** Only where another host can find out: who runs a call itself does not count it as lost. */
  #freezeRunning(host: string, forMs: number): boolean {
    const { hosts } = this.#world;
    const runs = ({ services }: SimulatedHost): boolean =>
      services.some(({ hosted }) => hosted.logic.name === 'tool-runner');
    const victim = hosts.find(({ name }) => name === host);
    if (victim === undefined || !hosts.some((one) => one !== victim && runs(one))) return false;
    this.#freeze(victim, forMs);
    this.#triggers.atUnknown(() => this.#thaw(victim));
    return true;
  }

  #thaw({ process, log }: SimulatedHost): void {
    if (!process.frozen) return;
    process.thaw();
    // A client finds out with its next heartbeat that it is a member no more.
    this.#world.clock.after(300, () => {
      if (process.alive) log.rejoin();
    });
  }

  #loseRecord(victim: SimulatedHost, forMs: number): void {
    this.#world.note('fault record lost in reading');
    victim.log.skip(lostRecords);
    this.#gapped.add(victim);
    this.#world.clock.after(forMs, () => this.#world.kill(victim, 'fault crash'));
  }

  #silence(victim: SimulatedHost, forMs: number): void {
    const { network, clock } = this.#world;
    this.#world.note('fault silent presence');
    network.silent.add(victim.name);
    clock.after(forMs, () => network.silent.delete(victim.name));
  }
}
