import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { packageRoot } from '../../../services/chassis/config/package-root.ts';
import { promtoolSays } from '../../support/promtool.ts';

/** Every alert fires where its figure passes the threshold, and is quiet just before it; Prometheus says so itself. */

const rulesDir = join(packageRoot, 'deploy/prometheus/rules');
const scratch = mkdtempSync(join(tmpdir(), 'longrein-alerts-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

type Alert = { alert: string; labels: { severity: string } };
const alerts = (
  parse(readFileSync(join(rulesDir, 'alerts.yaml'), 'utf8')) as { groups: { rules: Alert[] }[] }
).groups.flatMap(({ rules }) => rules);

/** Series by name; `a+bxn`: begins at a, grows by b a minute, n times. */
type Series = Readonly<Record<string, string>>;
type Case = Readonly<{
  /** When it is looked at. */
  at: string;
  fires: Series;
  quiet: Series;
  /** Labels of the alarm beside its name and severity. */
  labels?: Readonly<Record<string, string>>;
}>;

const ended = (outcome: string): string =>
  `longrein_sessions_ended_total{longrein_outcome="${outcome}"}`;
const toolCount = (outcome: string): string =>
  `gen_ai_execute_tool_duration_seconds_count{longrein_outcome="${outcome}"}`;
const bucket = (name: string, le: string): string => `${name}_bucket{le="${le}"}`;
const rehydrated = (outcome: string): string =>
  `longrein_partition_rehydrations_total{longrein_outcome="${outcome}"}`;
const goals = { longrein_topic: 'longrein.goals' };
const ofGoals = '{longrein_topic="longrein.goals"}';

/** All below the lower bound, or all above it and below the upper one. */
function slow(name: string, lower: string, upper: string): Pick<Case, 'fires' | 'quiet'> {
  const of = (below: string): Series => ({
    [bucket(name, lower)]: below,
    [bucket(name, upper)]: '0+10x200',
    [bucket(name, '+Inf')]: '0+10x200',
  });
  return { fires: of('0x200'), quiet: of('0+10x200') };
}

const cases: Readonly<Record<string, Case>> = {
  NoThroughput: {
    at: '90m',
    fires: { longrein_sessions_opened_total: '0+1x100', [ended('completed')]: '5x100' },
    quiet: { longrein_sessions_opened_total: '0+1x100', [ended('completed')]: '0+0.1x100' },
  },
  TemplateSuspended: {
    at: '60m',
    fires: { longrein_templates_suspended_total: '0x50 1x20' },
    quiet: { longrein_templates_suspended_total: '0x20 1x50' },
  },
  ToolSuspended: {
    at: '60m',
    labels: { gen_ai_tool_name: 'web.read' },
    fires: { 'longrein_tool_calls_suspended_total{gen_ai_tool_name="web.read"}': '0x50 1x20' },
    quiet: { 'longrein_tool_calls_suspended_total{gen_ai_tool_name="web.read"}': '0x20 1x50' },
  },
  CompletionLow: {
    at: '90m',
    fires: { [ended('completed')]: '0+8x100', [ended('failed')]: '0+1x100' },
    quiet: { [ended('completed')]: '0+10x100', [ended('failed')]: '0+1x100' },
  },
  SessionsSlow: { at: '90m', ...slow('longrein_session_duration_seconds', '1800', '3600') },
  ToolSuccessLow: {
    at: '60m',
    fires: { [toolCount('completed')]: '0+9x100', [toolCount('failed')]: '0+1x100' },
    quiet: { [toolCount('completed')]: '0+99x100', [toolCount('failed')]: '0+1x100' },
  },
  TokensHigh: {
    at: '180m',
    fires: {
      gen_ai_client_inference_usage_input_tokens_total: '0+600x150 90600+600000x60',
      gen_ai_client_inference_usage_output_tokens_total: '0x200',
    },
    quiet: {
      gen_ai_client_inference_usage_input_tokens_total: '0+600000x200',
      gen_ai_client_inference_usage_output_tokens_total: '0x200',
    },
  },
  CostHigh: {
    at: '90m',
    fires: { longrein_cost_usd_total: '0+1x100' },
    quiet: { longrein_cost_usd_total: '0+0.8x100' },
  },
  CostPerResultHigh: {
    at: '90m',
    fires: { longrein_cost_usd_total: '0+2.1x100', [ended('completed')]: '0+1x100' },
    quiet: { longrein_cost_usd_total: '0+1.9x100', [ended('completed')]: '0+1x100' },
  },
  AgentsIdle: {
    at: '120m',
    fires: {
      longrein_agent_idle_seconds_total: '0+9x130',
      gen_ai_invoke_agent_duration_seconds_sum: '0+10x130',
    },
    quiet: {
      longrein_agent_idle_seconds_total: '0+7x130',
      gen_ai_invoke_agent_duration_seconds_sum: '0+10x130',
    },
  },
  ToolRoundTripSlow: { at: '60m', ...slow('longrein_tool_round_trip_seconds', '30', '60') },
  LogLag: {
    at: '15m',
    fires: { longrein_log_lag: '5001x20' },
    quiet: { longrein_log_lag: '5000x20' },
  },
  StoreLag: {
    at: '15m',
    fires: { longrein_store_lag_age_seconds: '61x20' },
    quiet: { longrein_store_lag_age_seconds: '59x20' },
  },
  StoreNearsRetention: {
    at: '15m',
    labels: goals,
    fires: { [`longrein_store_retention_used_ratio${ofGoals}`]: '0.51x20' },
    quiet: { [`longrein_store_retention_used_ratio${ofGoals}`]: '0.49x20' },
  },
  StoreStopped: {
    at: '15m',
    fires: { longrein_store_troubles: '1x20' },
    quiet: { longrein_store_troubles: '0x20' },
  },
  RehydrationFails: {
    at: '90m',
    fires: { [rehydrated('owned')]: '0+9x100', [rehydrated('failed')]: '0+1x100' },
    quiet: { [rehydrated('owned')]: '0+9x100', [rehydrated('failed')]: '0x100' },
  },
  RehydrationSlow: { at: '90m', ...slow('longrein_partition_rehydration_seconds', '30', '60') },
  StepLoss: {
    at: '90m',
    fires: {
      longrein_steps_total: '0+100x100',
      longrein_steps_lost_total: '0+1x100',
      longrein_steps_repeated_total: '0x100',
    },
    quiet: {
      longrein_steps_total: '0+100x100',
      longrein_steps_lost_total: '0x100',
      longrein_steps_repeated_total: '0x100',
    },
  },
  DecisionsFailed: {
    at: '60m',
    // The first failure of a service ever: its series begins with it.
    fires: { 'longrein_decisions_failed_total{longrein_service="planner"}': '_x50 1x20' },
    quiet: { 'longrein_decisions_failed_total{longrein_service="planner"}': '1x80' },
  },
  PartitionHalted: {
    at: '10m',
    fires: { longrein_partitions_halted: '1x20' },
    quiet: { longrein_partitions_halted: '0x20' },
  },
  NotReady: { at: '15m', fires: { longrein_ready: '0x20' }, quiet: { longrein_ready: '1x20' } },
  HostGone: {
    at: '10m',
    labels: { job: 'longrein' },
    fires: { 'up{job="longrein"}': '0x20' },
    quiet: { 'up{job="longrein"}': '1x20' },
  },
};

type Look = Readonly<{ series: Series; query: object }>;

/** What Prometheus is to say of an alert when its series are these. */
function lookAt(alert: Alert, found: boolean): Look {
  const { at, labels = {}, fires, quiet } = cases[alert.alert.replace('Longrein', '')] as Case;
  const all = { alertname: alert.alert, alertstate: 'firing', ...alert.labels, ...labels };
  const text = Object.entries(all).map(([name, value]) => `${name}="${value}"`);
  const expr = `ALERTS{alertname="${alert.alert}", alertstate="firing"}`;
  const samples = found ? [{ labels: `ALERTS{${text.join(', ')}}`, value: 1 }] : [];
  return { series: found ? fires : quiet, query: { expr, eval_time: at, exp_samples: samples } };
}

const metricOf = (series: string): string => /^\w+/.exec(series)?.[0] ?? '';

/** Looks that touch different metrics share a run of Prometheus: each run costs a second. */
function runsOf(looks: readonly Look[]): readonly object[] {
  const runs: { used: Set<string>; looks: Look[] }[] = [];
  for (const look of looks) {
    const names = Object.keys(look.series).map((series) =>
      metricOf(series).replace(/_bucket$/, ''),
    );
    let run = runs.find(({ used }) => !names.some((name) => used.has(name)));
    if (run === undefined) {
      run = { used: new Set(), looks: [] };
      runs.push(run);
    }
    for (const name of names) run.used.add(name);
    run.looks.push(look);
  }
  return runs.map(({ looks: together }) => ({
    interval: '1m',
    input_series: together.flatMap(({ series }) =>
      Object.entries(series).map(([name, values]) => ({ series: name, values })),
    ),
    promql_expr_test: together.map(({ query }) => query),
  }));
}

test('Prometheus takes the rules and the example of its settings', async () => {
  const files = ['alerts.yaml', 'figures.yaml'].map((name) => join(rulesDir, name));
  expect(await promtoolSays('check', 'rules', ...files)).toContain('SUCCESS');
  const settings = join(packageRoot, 'deploy/prometheus/prometheus.yml');
  expect(await promtoolSays('check', 'config', settings)).toContain('SUCCESS');
});

test('every alert has a case, and every case an alert', () => {
  const names = alerts.map(({ alert }) => alert.replace('Longrein', ''));
  expect([...names].sort()).toEqual(Object.keys(cases).sort());
});

test('every alert fires beyond its threshold and is quiet before it', async () => {
  const tests = [true, false].flatMap((found) =>
    runsOf(alerts.map((alert) => lookAt(alert, found))),
  );
  const file = join(scratch, 'alerts.test.yaml');
  const rule_files = ['figures.yaml', 'alerts.yaml'].map((name) => join(rulesDir, name));
  writeFileSync(file, stringify({ rule_files, evaluation_interval: '1m', tests }));
  expect(await promtoolSays('test', 'rules', file)).toContain('SUCCESS');
});

test('Prometheus reads every expression of the dashboard that asks it', async () => {
  type Panel = Readonly<{ targets?: readonly Readonly<{ expr: string }>[] }>;
  const dashboard = readFileSync(join(packageRoot, 'deploy/grafana/figures.json'), 'utf8');
  const { panels } = JSON.parse(dashboard) as { panels: readonly Panel[] };
  const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  expect(expressions.length).toBeGreaterThan(10);
  const check = (all: readonly string[]) => {
    const rules = all.map((expr, index) => ({ record: `panel:${index}`, expr }));
    const path = join(scratch, 'panels.yaml');
    writeFileSync(path, stringify({ groups: [{ name: 'panels', rules }] }));
    return promtoolSays('check', 'rules', path);
  };
  expect(await check(expressions)).toContain(`${expressions.length} rules found`);
  await expect(check([...expressions, 'sum(longrein_ready'])).rejects.toThrow('panel');
});
