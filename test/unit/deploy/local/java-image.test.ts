import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readSettings } from '../../../../deploy/local/config.ts';
import { pullImage } from '../../../../deploy/local/engine.ts';
import { findInstalledJava, findJava } from '../../../../deploy/local/java.ts';
import { installedImageJava } from '../../../../deploy/local/java-image.ts';
import { type StackEvent, silent } from '../../../../deploy/local/report.ts';
import { FakeEngine, type FakeEngineOptions } from '../../../support/fake-engine.ts';

const work = mkdtempSync(join(tmpdir(), 'longrein-java-image-'));
const image = 'jre:test';

function settingsWith(engine: FakeEngine, more: Record<string, string> = {}) {
  const own = { LONGREIN_CACHE_DIR: join(work, 'cache'), LONGREIN_STATE_DIR: join(work, 'state') };
  return readSettings({ ...engine.environment, ...own, LONGREIN_JAVA_IMAGE: image, ...more }, work);
}

function engineWith(version: string, options: FakeEngineOptions = {}): FakeEngine {
  const engine = new FakeEngine(options);
  engine.add(image, { id: 'sha256:1', java: engine.fakeJava(version) });
  return engine;
}

const forced = { LONGREIN_JAVA: 'docker' };

describe('findJava', () => {
  it('takes the Java of the image where there is neither Java nor Python', async () => {
    const java = await findJava(settingsWith(engineWith('21.0.3')), silent);
    expect(java).toMatchObject({
      command: 'docker',
      release: 21,
      source: `Docker image ${image}`,
      image: { reference: image, id: 'sha256:1', engine: { version: '99.1' } },
    });
  });

  it('leaves Docker alone where a Java is on the PATH', async () => {
    const engine = engineWith('21.0.3');
    const dir = join(engine.fakeJava('17.0.9'), '..');
    const settings = settingsWith(engine, { PATH: `${dir}:${engine.environment.PATH}` });
    expect(await findJava(settings, silent)).toMatchObject({ command: 'java', release: 17 });
    expect(() => engine.calls()).toThrow('ENOENT');
  });

  it('passes over a Java on the PATH when Docker is asked for', async () => {
    const engine = engineWith('21.0.3');
    const dir = join(engine.fakeJava('17.0.9'), '..');
    const PATH = `${dir}:${engine.environment.PATH}`;
    const settings = settingsWith(engine, { PATH, ...forced });
    expect(await findJava(settings, silent)).toMatchObject({ command: 'docker', release: 21 });
    expect(await findInstalledJava(settings)).toMatchObject({ release: 21 });
  });

  it('refuses to choose between LONGREIN_JAVA_HOME and Docker', async () => {
    const more = { ...forced, LONGREIN_JAVA_HOME: '/opt/java' };
    const found = findJava(settingsWith(engineWith('21.0.3'), more), silent);
    await expect(found).rejects.toMatchObject({
      code: 'JAVA_UNUSABLE',
      fix: 'Unset one of the two.',
    });
  });

  it('pulls an image that is not there and tells how far it is', async () => {
    const engine = new FakeEngine({ pull: 'ok' });
    const pulled = { id: 'sha256:2', java: engine.fakeJava('21.0.4') };
    const other = new FakeEngine({ pull: 'ok', pulled });
    const notes: string[] = [];
    const report = (event: StackEvent): void => {
      if (event.kind === 'note') notes.push(event.text);
    };
    expect(await findJava(settingsWith(other), report)).toMatchObject({ version: '21.0.4' });
    expect(notes).toContain(`docker pulls ${image}, for at most 60 s`);
    expect(notes.at(-1)).toBe('docker pull: 2 of 2 layers');
  });

  it('tells all that was tried where nothing brings a Java', async () => {
    const found = findJava(settingsWith(new FakeEngine({ pull: 'fail' })), silent);
    await expect(found).rejects.toMatchObject({
      code: 'JAVA_MISSING',
      message: expect.stringMatching(/no java\n.*no Python with pip\n.*manifest unknown/),
      fix: expect.stringContaining('Docker'),
    });
  });
});

describe('where Docker is asked for, it', () => {
  it.each<[string, FakeEngineOptions, string, RegExp]>([
    ['an engine that does not answer', { down: true }, 'DOCKER', /Cannot connect/],
    ['a rootless engine', { securityOptions: ['name=rootless'] }, 'DOCKER', /rootless/],
    ['a pull that fails', { pull: 'fail' }, 'JAVA_IMAGE', /manifest unknown/],
    ['an image without Java', { images: { [image]: { id: '1' } } }, 'JAVA_UNUSABLE', /no Java/],
  ])('names %s', async (_what, options, code, message) => {
    const settings = settingsWith(new FakeEngine(options), forced);
    await expect(findJava(settings, silent)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
      fix: expect.stringMatching(/docker|LONGREIN_JAVA_IMAGE/),
    });
  });

  it('names an image whose Java is too old', async () => {
    const found = findJava(settingsWith(engineWith('11.0.2'), forced), silent);
    await expect(found).rejects.toMatchObject({
      code: 'JAVA_UNUSABLE',
      message: `Docker: ${image} has Java 11.0.2, but the broker needs 17 or newer`,
    });
  });

  it('says that there is no docker on the PATH', async () => {
    const settings = settingsWith(new FakeEngine({}), { PATH: work, ...forced });
    const message = 'Docker: there is no docker on the PATH';
    await expect(findJava(settings, silent)).rejects.toMatchObject({ code: 'DOCKER', message });
  });

  it('gives up a pull that takes too long', async () => {
    const settings = settingsWith(new FakeEngine({ pull: 'hang' }));
    await expect(pullImage(settings, silent, 200)).rejects.toMatchObject({
      code: 'JAVA_IMAGE',
      message: `Docker: ${image} cannot be pulled: it is not there after 0.2 s`,
      fix: expect.stringContaining(`docker pull ${image}`),
    });
  });
});

describe('installedImageJava', () => {
  it('does not pull', async () => {
    const engine = new FakeEngine({ pull: 'ok', pulled: { id: '1' } });
    expect(await installedImageJava(settingsWith(engine))).toBe(`Docker: ${image} is not there`);
    expect(engine.calls().map(([verb]) => verb)).toEqual(['info', 'image']);
  });
});
