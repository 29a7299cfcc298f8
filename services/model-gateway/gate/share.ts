/**
 * What part of a limit is this host's: one of as many equal parts as there are live gateway hosts
 * (presence), and never less than one.
 *
 * D1 A part that shrinks, because a host came, shrinks at once.
 * D2 A part that grows, because a host went, grows one window later: what the host that went has
 *    used may still count at the provider.
 *
 * So nobody passes a limit for longer than a change of membership takes: hosts that join take their
 * part before the others have heard of them, and in that one minute less than twice the limit is
 * used in all (limit x (1 + joined / all)). A host that is killed never makes it more than the limit.
 */

import { windowMs } from './window.ts';

export class Share {
  /** Nothing is known before the own heartbeat was heard: until then the part is the least. */
  private hosts = Number.POSITIVE_INFINITY;
  private grown: { readonly hosts: number; readonly atMs: number } | undefined;

  /** So many hosts of this kind are alive, this one among them. */
  heard(hosts: number, nowMs: number): void {
    const alive = Math.max(1, hosts);
    if (alive >= this.hosts || this.hosts === Number.POSITIVE_INFINITY) {
      this.hosts = alive;
      this.grown = undefined;
    } else if (this.grown?.hosts !== alive) this.grown = { hosts: alive, atMs: nowMs };
  }

  /** This host's part of `limit`. */
  of(limit: number, nowMs: number): number {
    if (this.grown !== undefined && nowMs >= this.grown.atMs + windowMs) {
      this.hosts = this.grown.hosts;
      this.grown = undefined;
    }
    return Math.max(1, Math.floor(limit / this.hosts));
  }
}
