import { expect, test } from 'vitest';
import { importsOf, sourceFiles } from '../support/source-tree.ts';

/** schemas <- state-machines <- services/chassis <- a service <- replay-tools, test. No service imports another. */

const files = sourceFiles(/\.ts$/);
const imports = files.flatMap(importsOf);
const project = imports.filter(({ to }) =>
  /^(schemas|state-machines|services|deploy|replay-tools|test)\//.test(to),
);

const layers = [
  'schemas',
  'state-machines',
  'services/chassis',
  'services',
  'replay-tools',
  'test',
];
const layerOf = (path: string): number => {
  if (path.startsWith('services/chassis/')) return layers.indexOf('services/chassis');
  return layers.indexOf(path.split('/')[0] ?? '');
};
const serviceOf = (path: string): string | undefined => /^services\/([^/]+)\//.exec(path)?.[1];

test('imports point down the layers only', () => {
  const wrong = project.filter(({ from, to }) => {
    if (from.startsWith('deploy/') || to.startsWith('deploy/')) return false;
    // The command line has the replay verbs.
    if (from.startsWith('services/console/') && to.startsWith('replay-tools/')) return false;
    return layerOf(to) > layerOf(from);
  });
  expect(wrong).toEqual([]);
});

test('no service imports another', () => {
  const wrong = project.filter(({ from, to }) => {
    const [own, other] = [serviceOf(from), serviceOf(to)];
    // The console is the people's side: it composes services into hosts and reads recorded sessions.
    if (own === undefined || other === undefined || own === 'console') return false;
    return other !== own && other !== 'chassis';
  });
  expect(wrong).toEqual([]);
});

test('the chassis imports no service, and tooling of the local stack only the chassis', () => {
  const wrong = project.filter(({ from, to }) => {
    if (!from.startsWith('deploy/') || !to.startsWith('services/')) return false;
    return !to.startsWith('services/chassis/');
  });
  expect(wrong).toEqual([]);
});

test('only the Kafka log knows the Kafka client', () => {
  const clients = imports.filter(({ to }) => to === 'kafkajs' || to.startsWith('kafkajs/'));
  const allowed = /^(services\/chassis\/log\/kafka\/|deploy\/local\/|test\/)/;
  expect(clients.filter(({ from }) => !allowed.test(from))).toEqual([]);
});

test('only the fold knows how XState is called; machines only describe', () => {
  const users = imports.filter(({ to, from }) => to === 'xstate' && !from.startsWith('test/'));
  expect(users.filter(({ from }) => !from.startsWith('state-machines/'))).toEqual([]);
  const forbidden = /\b(createActor|invoke|spawnChild|sendTo|after)\s*[:(]/;
  const machines = files.filter(({ path }) => /^state-machines\/.+-machine\.ts$/.test(path));
  expect(machines.length).toBeGreaterThan(4);
  expect(machines.filter(({ text }) => forbidden.test(text)).map(({ path }) => path)).toEqual([]);
});

/** Files that reach themselves by imports, also where only types are taken: which of them comes first nobody could say. */
function circles(): string[][] {
  const next = new Map<string, string[]>();
  for (const { from, to } of project) next.set(from, [...(next.get(from) ?? []), to]);
  const reached = (start: string): ReadonlySet<string> => {
    const seen = new Set<string>();
    const open = [...(next.get(start) ?? [])];
    for (let file = open.pop(); file !== undefined; file = open.pop()) {
      if (seen.has(file)) continue;
      seen.add(file);
      open.push(...(next.get(file) ?? []));
    }
    return seen;
  };
  const reach = new Map([...next.keys()].map((file) => [file, reached(file)]));
  return [...reach]
    .filter(([file, all]) => all.has(file))
    .map(([file, all]) =>
      [file, ...[...all].filter((other) => reach.get(other)?.has(file))].sort(),
    );
}

test('no file imports itself in a circle', () => {
  expect(project.length).toBeGreaterThan(1_000);
  expect(circles()).toEqual([]);
});
