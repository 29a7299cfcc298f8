import { type PartitionSeen, partitionsOf, seenIn } from './probe.ts';
import type { Action, Schedule } from './schedule.ts';
import type { SimulatedHost, SimulatedWorld } from './world.ts';

type Of<K extends Action['do']> = Extract<Action, { do: K }>;
type OnVictim = Exclude<Action, Of<'send' | 'start' | 'broker-away'>>;

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
  /** Hosts to crash after so many more appends. */
  readonly #doomed = new Map<string, { left: number; afterMs: number }>();

  constructor(world: SimulatedWorld, schedule: Schedule) {
    this.#world = world;
    this.#schedule = schedule;
    world.network.onAppend = (program) => this.#appending(program);
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
  }

  /** Nothing goes wrong any more, and for every service there is a host that is well. */
  async calm(): Promise<void> {
    const { network, hosts } = this.#world;
    network.calm = true;
    network.brokerAway = false;
    network.silent.clear();
    this.#doomed.clear();
    for (const victim of this.#gapped) this.#crash(victim, 'fault crash');
    for (const { process, log } of hosts) {
      process.thaw();
      log.hear();
      log.rejoin();
    }
    const running = new Set(
      hosts.flatMap(({ host }) => host['options'].services.map(({ logic }) => logic.name)),
    );
    const needed = ['intake', 'planner', 'supervisor', 'aggregator', 'tool-guard', 'tool-runner'];
    needed.push('sandbox-executor', 'model-gateway', 'worker-pool.test', 'worker-pool.analysis');
    const short = needed.some((service) => !running.has(service));
    if (short || this.#schedule.freshHost) await this.#world.startHost(['all'], 0);
  }

  look(host: string, seen: PartitionSeen | undefined): void {
    if (seen === undefined) return;
    this.#world.note('state compared');
    this.seen.push({ ...seen, host });
  }

  async #act(action: Action): Promise<void> {
    switch (action.do) {
      case 'send':
        this.#send(action);
        return;
      case 'start':
        await this.#start(action);
        return;
      case 'broker-away':
        this.#brokerAway(action.forMs);
        return;
      default: {
        const victim = this.#victim(action.victim);
        if (victim === undefined) return;
        this.#world.witness.note(victim.name, action.do);
        this.#disturb(victim, action);
      }
    }
  }

  #victim(fraction: number): SimulatedHost | undefined {
    const { hosts } = this.#world;
    return hosts[Math.floor(fraction * hosts.length)];
  }

  #send({ goalId, value, kind }: Of<'send'>): void {
    const names = { goal: 'goal sent', repeat: 'goal repeated', cancel: 'goal cancelled' };
    this.#world.note({ ...names, 'cancel-first': 'goal cancelled first' }[kind] ?? kind);
    if (value['key'] !== undefined) this.#world.note('goal of a key');
    if (value['plan'] === 'no-such-plan') this.#world.note('goal refused');
    this.#world.publish(goalId, value);
  }

  async #start({ services, skewMs }: Of<'start'>): Promise<void> {
    if (this.#world.hosts.length >= hostsMax) return;
    const size = services.length > 1 ? 'several services' : 'one service';
    this.#world.note(`host of ${services.includes('all') ? 'all services' : size}`);
    this.#world.note('host started');
    if (skewMs !== 0) this.#world.note('fault clock skew');
    await this.#world.startHost(services, skewMs);
  }

  #brokerAway(forMs: number): void {
    const { network, clock } = this.#world;
    this.#world.note('fault broker away');
    network.brokerAway = true;
    clock.after(forMs, () => {
      network.brokerAway = false;
    });
  }

  #disturb(victim: SimulatedHost, action: OnVictim): void {
    const { clock } = this.#world;
    switch (action.do) {
      case 'crash':
        this.#crash(victim, 'fault crash');
        break;
      case 'crash-appending':
        this.#doomed.set(victim.name, { left: action.appends, afterMs: action.afterMs });
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
  #ask(victim: SimulatedHost, action: Of<'rebalance' | 'checkpoint' | 'compare'>): void {
    const partitions = partitionsOf(victim.host);
    if (action.do === 'rebalance') {
      this.#world.note('fault rebalance');
      this.#world.cluster.rebalance(victim.host.group);
    } else if (action.do === 'compare')
      for (const partition of partitions) this.look(victim.name, seenIn(partition));
    else if (!victim.process.frozen) {
      // Hosts write checkpoints by themselves only for long sessions.
      this.#world.note('checkpoint asked for');
      for (const partition of partitions) partition.checkpoint(true);
    }
  }

  #crash(victim: SimulatedHost, name: string): void {
    if (!victim.process.alive) return;
    this.#world.note(name);
    this.#world.crash(victim);
  }

  #appending(program: string): void {
    const doom = this.#doomed.get(program);
    if (doom === undefined || --doom.left > 0) return;
    this.#doomed.delete(program);
    const victim = this.#world.hosts.find(({ name }) => name === program);
    if (victim === undefined) return;
    const crash = (): void => this.#crash(victim, 'fault crash while appending');
    this.#world.clock.after(doom.afterMs, crash);
  }

  #stop(victim: SimulatedHost): void {
    if (victim.process.frozen || !victim.started()) return;
    this.#world.note('host stopped');
    this.#world.stop(victim);
  }

  #expel(victim: SimulatedHost, { forMs, deafMs, dies }: Of<'expel'>): void {
    const { clock } = this.#world;
    this.#world.note(`fault zombie: expelled${deafMs > 0 ? ' and deaf' : ''}`);
    victim.log.expel();
    if (deafMs > 0) {
      victim.log.deafen();
      clock.after(deafMs, () => victim.log.hear());
    }
    clock.after(forMs, () => {
      if (dies && !this.#world.network.calm) this.#crash(victim, 'fault crash');
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
    clock.after(forMs, () => {
      process.thaw();
      // A client finds out with its next heartbeat that it is a member no more.
      clock.after(300, () => {
        if (process.alive) log.rejoin();
      });
    });
  }

  #loseRecord(victim: SimulatedHost, forMs: number): void {
    this.#world.note('fault record lost in reading');
    victim.log.skip(lostRecords);
    this.#gapped.add(victim);
    this.#world.clock.after(forMs, () => this.#crash(victim, 'fault crash'));
  }

  #silence(victim: SimulatedHost, forMs: number): void {
    const { network, clock } = this.#world;
    this.#world.note('fault silent presence');
    network.silent.add(victim.name);
    clock.after(forMs, () => network.silent.delete(victim.name));
  }
}
