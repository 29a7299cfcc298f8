import type { AgentDefinition } from '../../../schemas/definitions/agent.ts';
import type { PinnedCatalog } from '../../../schemas/definitions/catalog.ts';
import type { PlanDefinition } from '../../../schemas/definitions/plan.ts';
import type { ToolDefinition, ToolRisk } from '../../../schemas/definitions/tool.ts';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import { LongreinError } from '../errors.ts';
import type { EventRecord } from './event-record.ts';

/** Changes of what a session pinned, for whoever folds it otherwise than it went: forks and backtests. */

/** A policy as far as a session has one: tools that nobody may call, and the highest risk. */
export type Policy = Readonly<{ deny?: readonly string[]; riskMax?: ToolRisk }>;

export type Setting =
  | Readonly<{ what: 'prompt' | 'system' | 'model'; agent?: string; value: string }>
  | Readonly<{ what: 'policy'; policy: Policy }>
  | Readonly<{ what: 'tool'; tool: ToolDefinition }>
  | Readonly<{ what: 'plan'; plan: PlanDefinition }>
  | Readonly<{ what: 'input'; name: string; value: JsonValue }>;

function withAgents(
  catalog: PinnedCatalog,
  meant: string | undefined,
  change: (agent: AgentDefinition) => AgentDefinition,
): PinnedCatalog {
  if (meant !== undefined && !Object.hasOwn(catalog.agents, meant)) {
    const known = Object.keys(catalog.agents).join(', ');
    throw new LongreinError('AGENT_UNKNOWN', `the session pins no agent ${meant}`, {
      fix: `it pins: ${known}`,
    });
  }
  const agents = Object.entries(catalog.agents).map(([name, agent]) => [
    name,
    meant === undefined || meant === name ? change(agent) : agent,
  ]);
  return { ...catalog, agents: Object.fromEntries(agents) };
}

function changeCatalog(catalog: PinnedCatalog, setting: Setting): PinnedCatalog {
  switch (setting.what) {
    case 'prompt':
    case 'system':
    case 'model': {
      const { what, value, agent } = setting;
      return withAgents(catalog, agent, (one) =>
        one.kind === 'model' ? { ...one, [what]: value } : one,
      );
    }
    case 'policy': {
      const denied = new Set(setting.policy.deny ?? []);
      return withAgents(catalog, undefined, (one) => ({
        ...one,
        tools: one.tools.filter((name) => !denied.has(name)),
      }));
    }
    case 'tool':
      return { ...catalog, tools: { ...catalog.tools, [setting.tool.name]: setting.tool } };
    default:
      return catalog;
  }
}

function withBody(event: EventRecord, name: string, change: (body: JsonValue) => JsonValue) {
  const content = event.content?.[name];
  if (content?.body === undefined) return event;
  return {
    ...event,
    content: { ...event.content, [name]: { ...content, body: change(content.body) } },
  };
}

function changeOpening(opened: EventRecord, setting: Setting): EventRecord {
  if (setting.what === 'policy') {
    const { riskMax } = setting.policy;
    return riskMax === undefined ? opened : { ...opened, data: { ...opened.data, riskMax } };
  }
  if (setting.what === 'plan')
    return { ...opened, data: { ...opened.data, plan: setting.plan.name } };
  if (setting.what !== 'input') return opened;
  const given = opened.content?.['inputs'];
  const change = (body: JsonValue): JsonValue => ({
    ...(body as JsonObject),
    [setting.name]: setting.value,
  });
  if (given !== undefined) return withBody(opened, 'inputs', change);
  const inputs = { digest: '', mediaType: 'application/json', bytes: 0, body: change({}) };
  return { ...opened, content: { ...opened.content, inputs } };
}

/** The event as it would be with these settings; the same object where they do not touch it. */
export function changeEvent(event: EventRecord, settings: readonly Setting[]): EventRecord {
  if (event.type === 'session.opened') return settings.reduce(changeOpening, event);
  if (event.type !== 'plan.accepted') return event;
  return withBody(event, 'catalog', (body) => {
    const catalog = body as unknown as PinnedCatalog;
    return settings.reduce(changeCatalog, catalog) as unknown as JsonValue;
  });
}

/** What a setting changes, for people. */
export function saysOf(setting: Setting): string {
  switch (setting.what) {
    case 'policy': {
      const { deny = [], riskMax } = setting.policy;
      const parts = [
        ...deny.map((tool) => `deny ${tool}`),
        ...(riskMax ? [`risk at most ${riskMax}`] : []),
      ];
      return `policy: ${parts.join(', ')}`;
    }
    case 'tool':
      return `tool ${setting.tool.name} ${setting.tool.version}`;
    case 'plan':
      return `plan ${setting.plan.name} ${setting.plan.version}`;
    case 'input':
      return `input ${setting.name} = ${JSON.stringify(setting.value)}`;
    default: {
      const { what, agent, value } = setting;
      const whose = agent === undefined ? what : `${what} of ${agent}`;
      return what === 'model' ? `${whose} = ${value}` : `another ${whose}`;
    }
  }
}
