import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../../../schemas/json.ts';
import { requireCatalog } from '../../../../services/chassis/catalog/load.ts';
import { readScriptedRules } from '../../../../services/model-gateway/providers/scripted-rules.ts';
import {
  depthsOf,
  edgesOf,
  installedOf,
  type LockFile,
  projectsOf,
} from '../../../support/lock-figures.ts';
import { rehearsePlan, runProcedure, runUnboxed } from '../../../support/plan-rehearsal.ts';

const catalog = requireCatalog(['deploy/examples']);
const pinned = catalog.pinnedFor('lockfile-audit');
const rules = readScriptedRules('deploy/examples/scripts/demo.yaml');
const fixtures = ['storefront.v2.json', 'workspaces.v3.json', 'ingest.v3.json'];

function auditText(text: string, path = 'package-lock.json') {
  if (pinned === undefined) throw new Error('the plan has problems');
  const { tasks, output } = rehearsePlan({
    pinned,
    inputs: { path },
    tools: { 'files.read': () => ({ content: text }), 'sandbox.run': runUnboxed },
    model: (_agent, input) =>
      rules[0]?.answer?.({ input, messages: [], tools: [], step: 0 }) ?? null,
  });
  return { tasks, output: JSON.parse(JSON.stringify(output)) };
}

function fixtureText(name: string): string {
  return readFileSync(`test/fixtures/lockfiles/${name}`, 'utf8');
}

const lockOf = (packages: JsonObject, more: JsonObject = {}): string =>
  JSON.stringify({ name: 'small', lockfileVersion: 3, packages, ...more });

describe.each(fixtures)('the audit of %s', (name) => {
  const text = fixtureText(name);
  const lock: LockFile = JSON.parse(text);
  const installed = installedOf(lock);
  const { report, markdown } = auditText(text, name).output;

  test('counts every installed copy once, by what needs it', () => {
    const flags = (test: (dev: boolean, optional: boolean, either: boolean) => boolean): number =>
      installed.filter(({ entry }) =>
        test(entry.dev === true, entry.optional === true, entry.devOptional === true),
      ).length;
    expect(report.counts).toEqual({
      packages: installed.length,
      production: flags((dev, optional, either) => !(dev || optional || either)),
      dev: flags((dev) => dev),
      optional: flags((dev, optional) => optional && !dev),
      devOptional: flags((dev, optional, either) => either && !dev && !optional),
      workspaces: projectsOf(lock).length - 1,
    });
    const { packages, production, dev, optional, devOptional } = report.counts;
    expect(production + dev + optional + devOptional).toBe(packages);
    expect(report.lockfileVersion).toBe(lock.lockfileVersion);
  });

  test('counts licences, and names the packages that state none', () => {
    const licences = new Map<string, number>();
    for (const { entry } of installed) {
      const license = entry.license ?? 'unknown';
      licences.set(license, (licences.get(license) ?? 0) + 1);
    }
    const counted: { license: string; packages: number }[] = report.licences.counts;
    expect(new Map(counted.map(({ license, packages }) => [license, packages]))).toEqual(licences);
    const figures = counted.map(({ packages }) => packages);
    expect(figures).toEqual([...figures].sort((left, right) => right - left));
    const silent = installed.filter(({ entry }) => entry.license === undefined);
    expect(new Set(report.licences.unknown)).toEqual(new Set(silent.map(({ label }) => label)));
  });

  test('finds exactly the packages with more than one version', () => {
    const versions = new Map<string, string[]>();
    for (const { label } of installed) {
      const [, packageName = '', version = ''] = /^(.+)@([^@]+)$/.exec(label) ?? [];
      versions.set(packageName, [...(versions.get(packageName) ?? []), version]);
    }
    const several = [...versions].filter(([, all]) => new Set(all).size > 1);
    const found: { name: string; versions: string[]; copies: number }[] =
      report.duplicateVersions.list;
    expect(new Map(found.map((each) => [each.name, new Set(each.versions)]))).toEqual(
      new Map(several.map(([packageName, all]) => [packageName, new Set(all)])),
    );
    expect(found.every((each) => versions.get(each.name)?.length === each.copies)).toBe(true);
    expect(report.duplicateVersions.names).toBe(several.length);
  });

  test('lists the packages that run a script at installation', () => {
    const running = installed.filter(({ entry }) => entry.hasInstallScript === true);
    const found: { name: string; version: string }[] = report.installScripts.list;
    expect(found.map((each) => `${each.name}@${each.version}`)).toEqual(
      running.map(({ label }) => label).sort(),
    );
    expect(report.installScripts.count).toBe(running.length);
  });

  test('measures the depth of every package', () => {
    const depths = depthsOf(lock);
    const histogram = new Map<number, number>();
    for (const depth of depths.values()) histogram.set(depth, (histogram.get(depth) ?? 0) + 1);
    const measured: { depth: number; packages: number }[] = report.dependencyDepth.histogram;
    expect(new Map(measured.map(({ depth, packages }) => [depth, packages]))).toEqual(histogram);
    expect(report.dependencyDepth.max).toBe(Math.max(...depths.values()));
    expect(report.dependencyDepth.unreached).toBe(installed.length - depths.size);
  });

  test('names a chain of that depth whose every step is a real one', () => {
    const { max, path } = report.dependencyDepth;
    expect(path).toHaveLength(max);
    const edges = edgesOf(lock);
    const labels = new Map(installed.map((each) => [each.path, each.label]));
    let reached = new Set(projectsOf(lock));
    for (const label of path) {
      const next = edges.filter(([from, to]) => reached.has(from) && labels.get(to) === label);
      reached = new Set(next.map(([, to]) => to));
      expect(reached.size).toBeGreaterThan(0);
    }
    expect([...reached].map((each) => depthsOf(lock).get(each))).toContain(max);
  });

  test('puts the same figures into the summary and the document', () => {
    expect(markdown.startsWith(`# Audit of ${name}\n\n${report.summary}`)).toBe(true);
    expect(report.summary).toContain(`pins ${installed.length} packages`);
    expect(report.summary).toContain('scripted provider');
    for (const heading of ['Licences', 'Duplicate versions', 'Dependency depth']) {
      expect(markdown).toContain(`\n## ${heading}\n`);
    }
    expect(markdown).toContain(`The farthest package, ${report.dependencyDepth.max} away: `);
  });
});

describe('the fixtures', () => {
  test('have what makes a difference: links, aliases, nesting, scripts, missing licences', () => {
    const all = fixtures.map((name): LockFile => JSON.parse(fixtureText(name)));
    const entries = all.flatMap(({ packages }) => Object.entries(packages));
    expect(entries.some(([, { link }]) => link === true)).toBe(true);
    expect(
      entries.some(([path, { name }]) => path === 'node_modules/old-ms' && name === 'ms'),
    ).toBe(true);
    expect(entries.some(([path]) => path.startsWith('packages/web/node_modules/'))).toBe(true);
    expect(entries.some(([, { hasInstallScript }]) => hasInstallScript === true)).toBe(true);
    expect(all.flatMap(installedOf).some(({ entry }) => entry.license === undefined)).toBe(true);
    expect(all.map(({ lockfileVersion }) => lockfileVersion)).toEqual([2, 3, 3]);
  });
});

describe('the audit of an unusual lock file', () => {
  test('with the same tree in version 2 and in version 3 differs in nothing but the version', () => {
    const second: JsonObject = JSON.parse(fixtureText('storefront.v2.json'));
    const { dependencies: _tree, ...rest } = second;
    const third = auditText(JSON.stringify({ ...rest, lockfileVersion: 3 })).output;
    const { lockfileVersion, ...report } = auditText(JSON.stringify(second)).output.report;
    expect(lockfileVersion).toBe(2);
    expect(third.report).toEqual({ ...report, lockfileVersion: 3 });
  });

  test('without any package has zeros and empty lists', () => {
    const { report, markdown } = auditText(lockOf({ '': { name: 'empty' } })).output;
    expect(report.counts.packages).toBe(0);
    expect(report.licences).toEqual({ distinct: 0, counts: [], unknown: [] });
    expect(report.duplicateVersions).toEqual({ names: 0, copies: 0, list: [] });
    expect(report.dependencyDepth).toMatchObject({ max: 0, path: [], histogram: [], unreached: 0 });
    expect(markdown).toContain('The project has no dependencies.');
    expect(report.summary).toContain('empty pins no packages');
  });

  test('with one package keeps lists as lists', () => {
    const only = { version: '1.0.0', hasInstallScript: true };
    const { report } = auditText(
      lockOf({ '': { dependencies: { only: '1' } }, 'node_modules/only': only }),
    ).output;
    expect(report.licences.unknown).toEqual(['only@1.0.0']);
    expect(report.licences.counts).toEqual([{ license: 'unknown', packages: 1 }]);
    expect(report.installScripts.list).toHaveLength(1);
    expect(report.dependencyDepth).toMatchObject({
      max: 1,
      path: ['only@1.0.0'],
      project: 'small',
    });
    expect(report.summary).toContain('1 package runs a script at installation: only.');
  });

  test('with a cycle ends, and counts each package of it once', () => {
    const { report } = auditText(
      lockOf({
        '': { dependencies: { a: '1' } },
        'node_modules/a': { version: '1.0.0', dependencies: { b: '1' } },
        'node_modules/b': { version: '1.0.0', dependencies: { a: '1' } },
        'node_modules/stray': { version: '1.0.0' },
      }),
    ).output;
    expect(report.dependencyDepth).toMatchObject({ max: 2, path: ['a@1.0.0', 'b@1.0.0'] });
    expect(report.dependencyDepth.unreached).toBe(1);
  });

  test('resolves to the nearest copy on the way up, and sorts versions as versions', () => {
    const { report } = auditText(
      lockOf({
        '': { dependencies: { a: '1', b: '1' } },
        'node_modules/a': { version: '1.0.0', dependencies: { b: '2' } },
        'node_modules/a/node_modules/b': { version: '10.0.0', dependencies: { c: '1' } },
        'node_modules/b': { version: '9.0.0-rc.1' },
        'node_modules/a/node_modules/c': { version: '1.0.0' },
      }),
    ).output;
    expect(report.dependencyDepth).toMatchObject({
      max: 3,
      path: ['a@1.0.0', 'b@10.0.0', 'c@1.0.0'],
    });
    expect(report.duplicateVersions.list).toEqual([
      { name: 'b', versions: ['9.0.0-rc.1', '10.0.0'], copies: 2 },
    ]);
  });

  test('follows the link to a project outside the root, and not the folders of the root', () => {
    const { report } = auditText(
      lockOf({
        '': { dependencies: { own: '1', a: '1' } },
        '../own': { version: '1.0.0', dependencies: { a: '1' } },
        'node_modules/own': { link: true, resolved: '../own' },
        '../own/node_modules/a': { version: '2.0.0' },
        'node_modules/a': { version: '1.0.0' },
      }),
    ).output;
    expect(report.counts).toMatchObject({ packages: 2, workspaces: 1 });
    expect(report.dependencyDepth).toMatchObject({ max: 1, unreached: 0 });
  });

  test('takes the type of a licence that is written as an object', () => {
    const { report } = auditText(
      lockOf({ '': {}, 'node_modules/a': { version: '1.0.0', license: { type: 'MIT' } } }),
    ).output;
    expect(report.licences.counts).toEqual([{ license: 'MIT', packages: 1 }]);
  });

  test.each<[string, string, RegExp]>([
    ['text that is not JSON', '{', /package-lock\.json is not JSON/],
    [
      'version 1',
      '{"lockfileVersion":1,"dependencies":{}}',
      /not an npm lock file of version 2 or 3/,
    ],
    ['another JSON file', '{"name":"x"}', /npm install --package-lock-only/],
    ['JSON null', 'null', /not an npm lock file/],
  ])('is refused with what to do: %s', (_case, text, message) => {
    expect(() => auditText(text)).toThrow(message);
  });
});

describe('the agents of the audit', () => {
  test('send code that is no expression by accident', () => {
    const codes = Object.values(pinned?.agents ?? {}).flatMap((agent) =>
      agent.kind === 'procedure' ? agent.steps.map((step) => step.arguments) : [],
    );
    const texts = codes.flatMap((given) => codeOf(given));
    expect(texts).toHaveLength(6);
    for (const text of texts) expect(text).toMatch(/^[^=]/);
  });

  test('ask for the file that the goal names', () => {
    const reader = pinned?.agents['lock-reader'];
    if (reader?.kind !== 'procedure') throw new Error('no reader');
    const asked: JsonValue[] = [];
    runProcedure(
      reader,
      { path: 'sub/package-lock.json' },
      {
        'files.read': (given) => {
          asked.push(given);
          return { content: lockOf({ '': {} }) };
        },
        'sandbox.run': runUnboxed,
      },
    );
    expect(asked).toEqual([{ path: 'sub/package-lock.json' }]);
  });
});

function codeOf(given: JsonValue): string[] {
  const code: unknown = Object(given).code;
  return typeof code === 'string' ? [code] : [];
}
