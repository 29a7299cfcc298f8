import { join, resolve } from 'node:path';
import { ContentKeys } from './content-keys.ts';
import { createKeyDirectory } from './session-keys.ts';
import { type TenantKeySource, tenantKeyCommand, tenantKeyFile } from './tenant-keys.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Where keys are: of sessions in a directory, of tenants in a file or behind a command. Neither: nothing is sealed. */
export type KeySettings = Readonly<{ directory: string; file?: string; command?: string }>;

const setting = (environment: Environment, name: string): string | undefined =>
  environment[name]?.trim() || undefined;

/**
 * LONGREIN_SESSION_KEYS_DIR, else `session-keys` in the state directory; LONGREIN_TENANT_KEYS_COMMAND, else
 * LONGREIN_TENANT_KEYS_FILE.
 */
export function keySettingsOf(environment: Environment, stateDir: string): KeySettings {
  const given = setting(environment, 'LONGREIN_SESSION_KEYS_DIR');
  const directory = resolve(given ?? join(stateDir, 'session-keys'));
  const command = setting(environment, 'LONGREIN_TENANT_KEYS_COMMAND');
  if (command !== undefined) return { directory, command };
  const file = setting(environment, 'LONGREIN_TENANT_KEYS_FILE');
  return file === undefined ? { directory } : { directory, file: resolve(file) };
}

function sourceOf({ file, command }: KeySettings): TenantKeySource | undefined {
  if (command !== undefined) return tenantKeyCommand(command, Date.now);
  return file === undefined ? undefined : tenantKeyFile(file);
}

/** Nothing is read before it is needed. */
export const openContentKeys = (settings: KeySettings): ContentKeys =>
  new ContentKeys(createKeyDirectory(settings.directory), sourceOf(settings));
