import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../schemas/json.ts';
import { createRegistryCodec, subjectsOf } from '../../../services/chassis/log/registry.ts';
import { LiveHost } from '../../support/live-hosts.ts';
import { OwnBacking } from '../../support/own-backing.ts';

let backing: OwnBacking;
const hosts: LiveHost[] = [];

beforeAll(async () => {
  backing = await OwnBacking.prepare();
  await backing.startBroker();
  await backing.startRegistry();
  // The first is narrower than ours, so that what it allows can be read; the other one is not.
  await register('task.completed', withMember('attempt', { type: 'integer', minimum: 5 }));
  await register('task.scheduled', withMember('priority', { type: ['integer', 'string'] }));
});
afterAll(async () => {
  await Promise.all(hosts.map((host) => host.remove()));
  await backing.remove();
});

function newHost(): LiveHost {
  const host = new LiveHost({ stack: backing.stack, services: ['planner'] });
  hosts.push(host);
  return host;
}

async function ask(path: string, method: string, body?: object): Promise<void> {
  const answer = await fetch(`${backing.stack.registryUrl}${path}`, {
    method,
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect(answer.status).toBe(200);
}

/** What another release says of this event, at a registry that was not told to look at changes. */
async function register(event: string, change: (data: JsonObject) => JsonObject): Promise<void> {
  const name = `longrein.event.${event}`;
  const own = subjectsOf().find((subject) => subject.name === name)?.schema as JsonObject;
  const properties = own['properties'] as JsonObject;
  const data = change(properties['data'] as JsonObject);
  const schema = JSON.stringify({ ...own, properties: { ...properties, data } });
  await ask(`/subjects/${name}/versions`, 'POST', { schemaType: 'JSON', schema });
}

const withMember = (name: string, member: JsonObject) => (data: JsonObject) => {
  return { ...data, properties: { ...(data['properties'] as JsonObject), [name]: member } };
};

describe('a release that cannot read what is in the log', () => {
  it('is refused at its start, with the event and the field', async () => {
    const host = newHost();
    const { code } = await host.exit;
    expect(code).toBe(1);
    const last = host.log.at(-1);
    expect(last?.code).toBe('SCHEMA_INCOMPATIBLE');
    expect(last?.error).toMatch(/longrein\.event\.task\.scheduled: .*data\.priority/);
    expect(last?.fix).toMatch(/new version/);
    await ask('/subjects/longrein.event.task.scheduled', 'DELETE');
  });
});

describe('a release that can', () => {
  it('starts where another one wrote something narrower', async () => {
    // More than one at the same time: they register the same things.
    await Promise.all([newHost(), newHost(), newHost()].map((host) => host.ready()));
  });

  it('gets the ids that it was given before', async () => {
    const codec = await createRegistryCodec(backing.stack.registryUrl);
    const again = await createRegistryCodec(backing.stack.registryUrl);
    const goal = { goal: 'the same' };
    expect(again.encode('goal', goal)).toEqual(codec.encode('goal', goal));
  });
});
