/**
 * What a Java is to the stack, wherever it was found. Finding one is java.ts, starting one jvm.ts.
 */
import type { Engine } from './engine.ts';

export interface JavaRuntime {
  /** The program to start: a `java`, or the `docker` client if there is an image. */
  readonly command: string;
  /** Feature release: 17, 21, 25. */
  readonly release: number;
  /** The whole version as Java tells it, such as `17.0.15`. */
  readonly version: string;
  /** Where it was found, for people. */
  readonly source: string;
  /** Set if it runs in a container. */
  readonly image?: JavaImage;
}

export interface JavaImage {
  /** As a person wrote it. */
  readonly reference: string;
  /** As the engine tells it apart from others, even under the same name. */
  readonly id: string;
  readonly engine: Engine;
}

export const javaReleaseMin = 17;

/** Reads release and version out of what `java -version` prints; undefined if that is no Java. */
export function parseJavaVersion(
  output: string,
): { readonly release: number; readonly version: string } | undefined {
  const version = /\bversion "([^"]+)"/.exec(output)?.[1];
  // Java 8 and older call themselves 1.8.
  const release = version === undefined ? undefined : /^(?:1\.)?(\d+)/.exec(version)?.[1];
  return version && release ? { release: Number(release), version } : undefined;
}
