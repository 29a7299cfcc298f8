import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { packageRoot } from '../../../services/chassis/config/package-root.ts';
import { metrics } from '../../../services/chassis/telemetry/metrics.ts';
import { prometheusName } from '../../../services/chassis/telemetry/prometheus-text.ts';
import { runCli } from '../../../services/console/cli/program.ts';
import { fakeTerminal } from '../../support/fake-terminal.ts';

const read = (path: string): string => readFileSync(join(packageRoot, path), 'utf8');

type Alert = {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
};
type Rules<R> = { groups: { rules: R[] }[] };
const rulesOf = <R>(name: string): R[] =>
  (parse(read(`deploy/prometheus/rules/${name}.yaml`)) as Rules<R>).groups.flatMap(
    ({ rules }) => rules,
  );
const alerts = rulesOf<Alert>('alerts');
const records = rulesOf<{ record: string }>('figures').map(({ record }) => record);

/** The lines of the first block of commands. */
function commandsOf(path: string): readonly string[] {
  const block = /## First\n\n```sh\n([\s\S]*?)```/.exec(read(path))?.[1] ?? '';
  return block.split('\n').filter((line) => line !== '');
}

/** What the command says of itself: fails where there is no such command. */
async function helpOf(line: string): Promise<string> {
  const [program, ...words] = line.split(' ');
  expect(program).toBe('longrein');
  const isName = (word: string): boolean => /^[a-z][a-z-]*$/.test(word);
  const names = words.slice(0, words.findIndex((word) => !isName(word)) >>> 0);
  const terminal = fakeTerminal();
  const context = { environment: {}, workingDir: packageRoot, terminal };
  expect(await runCli([...names, '--help'], context), line).toBe(0);
  return terminal.stdout;
}

test('every alert names its runbook, and every runbook belongs to one', () => {
  const named = alerts.map(({ annotations }) => annotations.runbook_url);
  const files = readdirSync(join(packageRoot, 'docs/runbooks')).map(
    (name) => `docs/runbooks/${name}`,
  );
  expect([...named].sort()).toEqual(files.sort());
});

test.each(alerts)('the runbook of $alert names three commands that exist', async (alert) => {
  const { runbook_url: path, summary } = alert.annotations;
  expect(read(path)).toContain(
    `# ${alert.alert}\n\n${summary}. Severity: ${alert.labels.severity}.`,
  );
  const commands = commandsOf(path);
  expect(commands).toHaveLength(3);
  for (const line of commands) {
    const help = await helpOf(line);
    for (const [option] of line.matchAll(/--[a-z-]+/g)) expect(help, line).toContain(option);
    const question = /^longrein query (\S+)/.exec(line)?.[1];
    const file = `deploy/clickhouse/queries/${question}.sql`;
    if (question !== undefined) expect(existsSync(join(packageRoot, file)), line).toBe(true);
  }
});

test('other commands and questions that runbooks name exist too', async () => {
  const lines = alerts.flatMap(({ annotations }) =>
    [...read(annotations.runbook_url).matchAll(/`(longrein [^`]+)`/g)].map(([, line = '']) => line),
  );
  expect(lines.length).toBeGreaterThan(10);
  for (const line of new Set(lines)) {
    await helpOf(line);
    const question = /^longrein query (\S+)/.exec(line)?.[1];
    const file = `deploy/clickhouse/queries/${question}.sql`;
    if (question !== undefined) expect(existsSync(join(packageRoot, file)), line).toBe(true);
  }
});

test('every figure has an alert, and the page of figures names it', () => {
  const page = read('docs/metrics.md');
  for (const record of records) {
    const row = page.split('\n').find((line) => line.includes(`\`${record}\` |`)) ?? '';
    const [, name = ''] = /`(Longrein\w+)`/.exec(row) ?? [];
    const alert = alerts.find((one) => one.alert === name);
    expect(alert, record).toBeDefined();
    if (name !== 'LongreinNoThroughput') expect(alert?.expr).toContain(record);
  }
});

test('panels of the dashboard ask for figures and metrics that exist', () => {
  type Panel = { title: string; targets: { expr: string }[] };
  const { panels } = JSON.parse(read('deploy/grafana/figures.json')) as { panels: Panel[] };
  const known = [...records, ...Object.values(metrics).map(prometheusName), 'longrein_topic'];
  const asked = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  expect(asked.length).toBeGreaterThan(14);
  for (const expr of asked) {
    const names = expr.match(/[a-z_]+(:\w+)+|(longrein|process)_\w+/g) ?? [];
    expect(names.length, expr).toBeGreaterThan(0);
    for (const name of names) expect(known, expr).toContain(name);
  }
  for (const record of records)
    expect(asked).toContain(
      record === 'longrein:log_lag:max' ? 'max by (longrein_topic) (longrein_log_lag)' : record,
    );
});
