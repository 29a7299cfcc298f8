/** What a torture run does to the processes, how often, and how often at least. */
export type Disturbance =
  | 'kill host'
  | 'freeze host'
  | 'kill broker'
  | 'kill registry'
  | 'kill ClickHouse'
  | 'kill MCP server'
  | 'member joins'
  | 'member leaves'
  | 'cut connection'
  | 'omit partition';

type Rate = Readonly<{
  /** How often in one bag of the schedule; 0 for what a proxy does beside it, at a pace of its own. */
  inBag: number;
  /** At least so many in a minute, rounded down, and one in any run. */
  perMinute: number;
}>;

export const rates: Readonly<Record<Disturbance, Rate>> = {
  'kill host': { inBag: 4, perMinute: 1.3 },
  'freeze host': { inBag: 1, perMinute: 0.3 },
  'kill broker': { inBag: 1, perMinute: 0.3 },
  'kill registry': { inBag: 1, perMinute: 0.3 },
  'kill ClickHouse': { inBag: 1, perMinute: 0.3 },
  'kill MCP server': { inBag: 3, perMinute: 0.6 },
  'member joins': { inBag: 1, perMinute: 0.3 },
  'member leaves': { inBag: 1, perMinute: 0.3 },
  'cut connection': { inBag: 0, perMinute: 2 },
  'omit partition': { inBag: 0, perMinute: 2 },
};

export const disturbances = Object.keys(rates) as readonly Disturbance[];

/** One bag, in no order. */
export const bag: readonly Disturbance[] = disturbances.flatMap((kind) =>
  Array.from({ length: rates[kind].inBag }, () => kind),
);

/** At least so many of a kind in a run of these minutes, or the run proves little. */
export const minimumOf = (kind: Disturbance, minutes: number): number =>
  Math.max(1, Math.floor(rates[kind].perMinute * minutes));

const paceMsMax = 4_500;

/** Milliseconds between two disturbances, so that a run of these minutes has each kind at least once. */
export const paceOf = (minutes: number): number =>
  Math.min(paceMsMax, (minutes * 60_000) / (disturbances.length + 4));
