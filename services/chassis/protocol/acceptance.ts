import { ablated } from '../ablation.ts';
import type { RecordHeader } from './record.ts';

/**
 * Acceptance (DESIGN 3, the first step of the rule; the same function for every reader).
 *
 * A turn or checkpoint counts if, at its place in the log, it carries the current epoch of its service and the next
 * sequence number of that epoch. A number that matches is used up, whatever follows. Inputs are accepted, whoever writes
 * them, unless they name the epoch of a service: then only as long as it is current (timers, DESIGN 3.10).
 */
export type ServiceEpoch = { number: number; incarnation: string; sequence: number };

/** One epoch and one number per service, for one partition. Plain JSON. */
export type AcceptanceState = Record<string, ServiceEpoch>;

export const noEpoch: Readonly<ServiceEpoch> = { number: 0, incarnation: '', sequence: 0 };

function acceptEpoch(state: AcceptanceState, header: RecordHeader): boolean {
  let accepted = false;
  for (const service of header.services) {
    if (header.epoch <= (state[service]?.number ?? 0)) continue;
    state[service] = { number: header.epoch, incarnation: header.incarnation, sequence: 0 };
    accepted = true;
  }
  return accepted;
}

function isCurrent(
  current: ServiceEpoch | undefined,
  { epoch, incarnation }: RecordHeader,
): current is ServiceEpoch {
  return current?.number === epoch && current.incarnation === incarnation;
}

function acceptNumbered(state: AcceptanceState, header: RecordHeader): boolean {
  const current = state[header.service];
  if (!isCurrent(current, header)) return current !== undefined && ablated('1c');
  if (header.sequence !== current.sequence + 1 && !ablated('2c')) return false;
  current.sequence = header.sequence;
  return true;
}

/** Takes the next record of the partition into the state (in place) and says whether it is accepted. */
export function accept(state: AcceptanceState, header: RecordHeader): boolean {
  switch (header.kind) {
    case 'input':
      return header.epoch < 0 || isCurrent(state[header.service], header) || ablated('1c');
    case 'epoch':
      return acceptEpoch(state, header);
    case 'turn':
    case 'checkpoint':
      return acceptNumbered(state, header);
  }
}

export function copyAcceptance(state: AcceptanceState): AcceptanceState {
  return Object.fromEntries(Object.entries(state).map(([name, epoch]) => [name, { ...epoch }]));
}

/** The number for the next epoch request: above all that this reader has read. */
export function nextEpochNumber(state: AcceptanceState): number {
  let highest = 0;
  for (const epoch of Object.values(state)) highest = Math.max(highest, epoch.number);
  return highest + 1;
}
