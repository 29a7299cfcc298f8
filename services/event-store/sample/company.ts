/** Who the sample data is about: nobody real. */

export const sampleTenants = ['sample-acme', 'sample-globex', 'sample-initech'] as const;

export const labelSets = [
  { cost_centre: 'sales', team: 'inbound' },
  { cost_centre: 'research', team: 'atlas' },
  { cost_centre: 'operations', team: 'night' },
] as const;

export const people = ['mary', 'omar', 'li', 'scheduler'] as const;

export type SampleModel = Readonly<{
  provider: string;
  model: string;
  /** Nano-USD per token. */
  input: number;
  output: number;
  /** Milliseconds per output token, about. */
  pace: number;
  /** Share of calls that fail at first. */
  failing: number;
}>;

const models: Readonly<Record<string, SampleModel>> = {
  small: {
    provider: 'openai',
    model: 'gpt-x-mini',
    input: 250,
    output: 2_000,
    pace: 6,
    failing: 0.03,
  },
  large: {
    provider: 'openai',
    model: 'gpt-x',
    input: 1_250,
    output: 10_000,
    pace: 14,
    failing: 0.05,
  },
  slow: {
    provider: 'mistral',
    model: 'mistral-x',
    input: 400,
    output: 2_000,
    pace: 31,
    failing: 0.11,
  },
};

export type SampleAgent = Readonly<{
  name: string;
  pool: string;
  model: SampleModel;
  tools: readonly string[];
  steps: readonly [number, number];
}>;

export const sampleAgents: readonly SampleAgent[] = [
  {
    name: 'researcher',
    pool: 'research',
    model: models.small as SampleModel,
    tools: ['web.fetch', 'files.read'],
    steps: [2, 6],
  },
  {
    name: 'writer',
    pool: 'research',
    model: models.large as SampleModel,
    tools: ['files.read', 'files.write'],
    steps: [1, 4],
  },
  {
    name: 'analyst',
    pool: 'data',
    model: models.slow as SampleModel,
    tools: ['code.run', 'files.read'],
    steps: [2, 5],
  },
  {
    name: 'clerk',
    pool: 'office',
    model: models.small as SampleModel,
    tools: ['tickets.create', 'files.read'],
    steps: [1, 3],
  },
];

export type SampleTool = Readonly<{
  effect: 'read-only' | 'idempotent' | 'at-most-once';
  risk: 'low' | 'medium' | 'high';
  /** Runs in a sandbox. */
  sandboxed: boolean;
  durationMs: readonly [number, number];
  failing: number;
}>;

export const sampleTools: Readonly<Record<string, SampleTool>> = {
  'web.fetch': {
    effect: 'read-only',
    risk: 'medium',
    sandboxed: false,
    durationMs: [80, 1_900],
    failing: 0.06,
  },
  'files.read': {
    effect: 'read-only',
    risk: 'low',
    sandboxed: false,
    durationMs: [2, 30],
    failing: 0.01,
  },
  'files.write': {
    effect: 'idempotent',
    risk: 'medium',
    sandboxed: false,
    durationMs: [3, 40],
    failing: 0.02,
  },
  'code.run': {
    effect: 'read-only',
    risk: 'high',
    sandboxed: true,
    durationMs: [120, 4_000],
    failing: 0.09,
  },
  'tickets.create': {
    effect: 'at-most-once',
    risk: 'high',
    sandboxed: false,
    durationMs: [90, 700],
    failing: 0.03,
  },
};

/** On this day of the sample a release was deployed, and `web.fetch` got a new version. */
export const deployDay = 18;
export const releases = { before: '0.1.0', after: '0.2.0' } as const;
