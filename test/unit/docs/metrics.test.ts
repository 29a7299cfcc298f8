import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { packageRoot } from '../../../services/chassis/config/package-root.ts';
import { metrics } from '../../../services/chassis/telemetry/metrics.ts';
import {
  prometheusLabel,
  prometheusName,
} from '../../../services/chassis/telemetry/prometheus-text.ts';

const read = (path: string): string => readFileSync(join(packageRoot, path), 'utf8');
const page = read('docs/metrics.md');

type Rules = { groups: { rules: { record?: string; expr: string }[] }[] };
const recorded = (parse(read('deploy/prometheus/rules/figures.yaml')) as Rules).groups.flatMap(
  ({ rules }) => rules,
);

const rowOf = (metric: (typeof metrics)[keyof typeof metrics]): string => {
  const labels = metric.labels.map((name) => `\`${prometheusLabel(name)}\``).join(', ');
  return `| \`${prometheusName(metric)}\` | ${metric.kind} | ${labels} | ${metric.about} |`;
};

test('the page has a row for every metric, with its labels, and for no other', () => {
  const rows = page.split('\n').filter((line) => /\| (counter|gauge|histogram) \|/.test(line));
  expect(rows).toEqual(Object.values(metrics).map(rowOf));
});

test('no metric has a label that could grow without end', () => {
  const bounded =
    /^(longrein\.(service|outcome|lane|topic|pool|host|release)|gen_ai\.(request\.model|tool\.name))$/;
  const names = Object.values(metrics).flatMap(({ labels }) => labels);
  expect(names.filter((name) => !bounded.test(name))).toEqual([]);
});

test('every figure of the page is a recording rule with the formula that the page says', () => {
  const formulas = /```text\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
  const said = [...formulas.matchAll(/^(\S+)\n {2}= (.*)$/gm)].map(([, record, expr]) => ({
    record,
    expr,
  }));
  expect(said).toEqual(recorded.map(({ record, expr }) => ({ record, expr })));
  for (const { record } of recorded) expect(page).toContain(`| \`${record}\` |`);
});

test('formulas use metrics and labels that exist', () => {
  const names = new Set(
    Object.values(metrics).flatMap((metric) => {
      const name = prometheusName(metric);
      const spread = ['_bucket', '_sum', '_count'].map((end) => `${name}${end}`);
      return metric.kind === 'histogram' ? spread : [name];
    }),
  );
  for (const { expr } of recorded) {
    const used = expr.match(/\b(?:longrein|gen_ai)_\w+(?=[[{)]|$)/g) ?? [];
    expect(used.length, expr).toBeGreaterThan(0);
    for (const name of used) expect([...names, 'longrein_topic'], expr).toContain(name);
  }
});
