import { z } from 'zod';
import { LongreinError } from '../../chassis/errors.ts';

/** What an export consists of; lies beside the files as `manifest.json`. */
const file = z.object({
  /** Within the directory. */
  path: z.string(),
  tenantId: z.string(),
  /** YYYY-MM-DD, UTC. */
  day: z.string(),
  /** The file holds the sessions whose hash leaves `part` when it is divided by `parts`. */
  part: z.number().int(),
  parts: z.number().int(),
  rows: z.number().int(),
  bytes: z.number().int(),
  sha256: z.string(),
});
const manifest = z.object({
  format: z.literal('longrein-events'),
  version: z.literal(1),
  columns: z.array(z.string()),
  files: z.array(file),
});

export type ExportFile = Readonly<z.infer<typeof file>>;
export type Manifest = Readonly<z.infer<typeof manifest>>;

export const manifestName = 'manifest.json';

export const manifestText = (value: Manifest): string => `${JSON.stringify(value, null, 1)}\n`;

/** Throws EXPORT_BROKEN, with what is wrong with it. */
export function parseManifest(text: string, where: string): Manifest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw broken(`${where} is not JSON`, cause);
  }
  const parsed = manifest.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw broken(`${where}: ${issue?.path.join('.')} ${issue?.message}`, parsed.error);
}

export const broken = (message: string, cause?: unknown): LongreinError =>
  new LongreinError('EXPORT_BROKEN', message, {
    fix: 'Copy the export again from where it was made; nothing of that file was written.',
    cause,
  });

/** Hive's name for a partition without a value. */
const nobody = '__HIVE_DEFAULT_PARTITION__';

/** Where the files of a tenant are, with a slash at the end. */
export const folderOf = (tenantId: string): string =>
  `tenant_id=${tenantId === '' ? nobody : encodeURIComponent(tenantId).replaceAll('.', '%2E')}/`;

/** `tenant_id=…/dt=…/events-0.parquet`, with nothing in it that a path or Hive takes otherwise. */
export const pathOf = ({
  tenantId,
  day,
  part,
}: Pick<ExportFile, 'tenantId' | 'day' | 'part'>): string =>
  `${folderOf(tenantId)}dt=${day}/events-${part}.parquet`;
