/** How many gateway hosts share the limits: those that presence lists. */

import type { Host } from '../../chassis/host/host.ts';
import type { Companion } from '../../chassis/host/service-context.ts';
import { Gate } from './gate.ts';
import type { GateRules } from './rules.ts';

const service = 'model-gateway';
/** Presence changes every second at most. */
const freshMs = 250;

export class GatewayHosts {
  private host: Host | undefined;
  private countedAtMs = Number.NEGATIVE_INFINITY;
  private count: number | undefined;

  attach(host: Host): void {
    this.host = host;
  }

  /** The session decides again, whichever of the topics it is in. */
  look(session: string): void {
    for (const topic of this.host?.topics ?? []) this.host?.nudge(topic, session);
  }

  /** Live gateway hosts, this one among them; undefined until this host has heard itself. */
  alive(nowMs: number): number | undefined {
    if (nowMs - this.countedAtMs < freshMs) return this.count;
    this.countedAtMs = nowMs;
    const beats = this.host?.alive().filter(({ services }) => services.includes(service)) ?? [];
    const own = this.host?.identity.incarnation;
    this.count = beats.some(({ incarnation }) => incarnation === own) ? beats.length : undefined;
    return this.count;
  }
}

/** A gate that knows its host once that has started. */
export function hostedGate(rules: GateRules, hosts: GatewayHosts) {
  const gate = new Gate(rules, (session) => hosts.look(session));
  const companion: Companion = {
    start: async (host) => hosts.attach(host),
    stop: async () => undefined,
  };
  return { gate, companion };
}
