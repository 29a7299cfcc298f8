import { LongreinError } from '../chassis/errors.ts';

/** Which pool this process serves. Throws LongreinError CONFIG_MISSING. */
export function readPoolName(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string {
  const pool = environment['LONGREIN_POOL'];
  if (pool !== undefined && pool !== '') return pool;
  throw new LongreinError('CONFIG_MISSING', 'no pool is named', {
    fix: 'set LONGREIN_POOL to the name of a pool of the catalog (pools.yaml)',
  });
}
