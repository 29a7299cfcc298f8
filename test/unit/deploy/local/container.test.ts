import { describe, expect, it } from 'vitest';
import {
  type ContainerRun,
  containerLabel,
  containerState,
  runArguments,
  stopContainer,
} from '../../../../deploy/local/container.ts';
import { layerTeller, parseEngine } from '../../../../deploy/local/engine.ts';
import { FakeEngine } from '../../../support/fake-engine.ts';

const engine = { version: '20.10', system: 'Linux', securityOptions: ['name=seccomp'] };
const run: ContainerRun = {
  image: 'jre:1',
  engine,
  label: 'longrein-a-broker',
  idFile: '/state/containers/broker.id',
  network: 'host',
  readable: ['/cache'],
  writable: ['/state/kafka, "odd"'],
  workingDir: '/state/kafka',
  env: { LANG: 'C' },
  user: '1000:100',
  args: ['-version'],
};

/** The values that one option was given. */
function valuesOf(args: readonly string[], name: string): (string | undefined)[] {
  return args.flatMap((arg, index) => (arg === name ? [args[index + 1]] : []));
}

describe('runArguments', () => {
  it('gives the JVM the network, its directories and nothing else of the machine', () => {
    const args = runArguments(run);
    expect(args.slice(-2)).toEqual(['jre:1', '-version']);
    expect(args).toEqual(expect.arrayContaining(['--rm', '--init', '--read-only']));
    expect(valuesOf(args, '--cap-drop')).toEqual(['ALL']);
    expect(valuesOf(args, '--security-opt')).toEqual(['no-new-privileges']);
    expect(valuesOf(args, '--network')).toEqual(['host']);
    expect(valuesOf(args, '--pull')).toEqual(['never']);
    expect(valuesOf(args, '--user')).toEqual(['1000:100']);
    expect(valuesOf(args, '--env')).toEqual(['HOME=/tmp', 'LANG=C']);
    expect(valuesOf(args, '--entrypoint')).toEqual(['java']);
  });

  it('mounts directories under their own path, whatever is in it', () => {
    expect(valuesOf(runArguments(run), '--mount')).toEqual([
      'type=bind,"source=/cache","target=/cache",readonly',
      'type=bind,"source=/state/kafka, ""odd""","target=/state/kafka, ""odd"""',
    ]);
  });

  it('names and writes down only a container that stays', () => {
    const args = runArguments(run);
    expect(valuesOf(args, '--name')).toEqual(['longrein-a-broker']);
    expect(valuesOf(args, '--cidfile')).toEqual(['/state/containers/broker.id']);
    const { idFile: _, ...once } = run;
    expect(runArguments(once)).not.toContain('--name');
    expect(valuesOf(runArguments(once), '--label')).toEqual(['longrein.service=longrein-a-broker']);
  });

  it('asks an engine that maps users, or labels files, to let it at the files of this user', () => {
    const securityOptions = ['name=selinux', 'name=userns'];
    const args = runArguments({ ...run, engine: { ...engine, securityOptions } });
    expect(valuesOf(args, '--userns')).toEqual(['host']);
    expect(valuesOf(args, '--security-opt')).toContain('label=disable');
  });
});

describe('containerLabel', () => {
  it('is another one for another stack', () => {
    expect(containerLabel('/a', 'broker')).toMatch(/^longrein-[0-9a-f]{12}-broker$/);
    expect(containerLabel('/a', 'broker')).not.toBe(containerLabel('/b', 'broker'));
  });
});

describe('a container that is recorded', () => {
  const record = (environment: Record<string, string>) => ({
    id: 'f'.repeat(64),
    name: 'n',
    environment,
  });

  it('is gone when its engine does not know it', async () => {
    const { environment } = new FakeEngine({});
    expect(await containerState(record(environment))).toBe('gone');
    expect(await stopContainer(record(environment), 1_000)).toBe('gone');
  });

  it('is not taken for gone when its engine does not answer', async () => {
    const { environment } = new FakeEngine({ down: true });
    await expect(stopContainer(record(environment), 1_000)).rejects.toMatchObject({
      code: 'ENGINE_SILENT',
      message: expect.stringContaining('Cannot connect to the Docker daemon'),
      fix: expect.stringContaining('Start Docker'),
    });
  });
});

describe('parseEngine', () => {
  it('finds no engine behind a client that only knows itself', () => {
    expect(parseEngine('{"ServerVersion":"","ServerErrors":["Cannot connect"]}')).toBeUndefined();
    expect(parseEngine('template: :1:2: no such field')).toBeUndefined();
  });

  it('reads the engine behind a warning', () => {
    const json = '{"ServerVersion":"28.1","OperatingSystem":"Docker Desktop"}';
    const expected = { version: '28.1', system: 'Docker Desktop', securityOptions: [] };
    expect(parseEngine(`WARNING: no swap\n${json}`)).toEqual(expected);
  });
});

describe('layerTeller', () => {
  it('counts layers whose lines come in pieces', () => {
    const notes: string[] = [];
    const hear = layerTeller((text) => notes.push(text));
    hear('a: Pulling fs layer\nb: Already exists\na: Pull com');
    hear('plete\n');
    expect(notes).toEqual(['docker pull: 1 of 2 layers', 'docker pull: 2 of 2 layers']);
  });
});
