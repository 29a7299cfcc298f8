import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../deploy/local/config.ts';

export interface FakeImage {
  readonly id: string;
  /** Program of this machine that stands for the java in the image; none if there is none. */
  readonly java?: string;
}

export interface FakeEngineOptions {
  readonly images?: Readonly<Record<string, FakeImage>>;
  /** What the engine gets when it is told to pull; what a pull does. */
  readonly pulled?: FakeImage;
  readonly pull?: 'ok' | 'fail' | 'hang';
  readonly securityOptions?: readonly string[];
  /** The client is there, but its engine does not answer. */
  readonly down?: boolean;
}

/** A `docker` on a PATH of its own, in front of an engine that runs programs of this machine (fake-docker.mjs). */
export class FakeEngine {
  readonly dir = mkdtempSync(join(tmpdir(), 'longrein-docker-'));
  /** What the client needs in its environment. Nothing else is on the PATH. */
  readonly environment = { PATH: join(this.dir, 'bin'), DOCKER_HOST: `fake:${this.dir}` };

  constructor(options: FakeEngineOptions) {
    const { images = {}, securityOptions = [], ...rest } = options;
    const info = {
      ServerVersion: '99.1',
      OperatingSystem: 'a test',
      SecurityOptions: securityOptions,
    };
    writeFileSync(join(this.dir, 'engine.json'), JSON.stringify({ images, info, ...rest }));
    const client = join(packageRoot(), 'test', 'support', 'fake-docker.mjs');
    const script = `#!/bin/sh\nexec '${process.execPath}' '${client}' "$@"\n`;
    mkdirSync(join(this.dir, 'bin'));
    writeFileSync(join(this.dir, 'bin', 'docker'), script, { mode: 0o755 });
  }

  /** A program that prints the version of a Java and does nothing else. */
  fakeJava(version: string): string {
    const path = join(mkdtempSync(join(this.dir, 'java-')), 'java');
    writeFileSync(path, `#!/bin/sh\necho 'openjdk version "${version}"' >&2\n`, { mode: 0o755 });
    return path;
  }

  /** Gives the engine an image that it did not have. */
  add(reference: string, image: FakeImage): void {
    const path = join(this.dir, 'engine.json');
    const engine = JSON.parse(readFileSync(path, 'utf8')) as { images: Record<string, FakeImage> };
    engine.images[reference] = image;
    writeFileSync(path, JSON.stringify(engine));
  }

  /** All that the client was told, one list of arguments for each call. */
  calls(): string[][] {
    const text = readFileSync(join(this.dir, 'calls.log'), 'utf8').trim();
    return text.split('\n').map((line) => JSON.parse(line) as string[]);
  }

  /** Pids of the programs that stand for containers, by the name of the container. */
  running(): Map<string, number> {
    const dir = join(this.dir, 'containers');
    const files = readdirSync(dir).map((name) => readFileSync(join(dir, name), 'utf8'));
    const records = files.map((text) => JSON.parse(text) as { name: string; pid: number });
    return new Map(records.map(({ name, pid }) => [name, pid]));
  }
}
