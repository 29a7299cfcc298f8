/** Reads the operator's price overrides: a YAML mapping from model to prices. */

import { z } from 'zod';
import type { PriceOverrides } from './prices.ts';
import { readYamlFile } from './yaml-file.ts';

const rate = z.int().min(0);
const overridesShape = z.record(
  z.string().regex(/^[a-z][a-z0-9-]*\/\S+$/, 'a model is written provider/model, or provider/*'),
  z.strictObject({
    inputNanoUsdPerMTokens: rate,
    outputNanoUsdPerMTokens: rate,
    cacheReadNanoUsdPerMTokens: rate.optional(),
    cacheWriteNanoUsdPerMTokens: rate.optional(),
  }),
);

/** The overrides in the file at `path`. Throws LongreinError PRICES_INVALID with file and line. */
export function readPriceOverrides(path: string): PriceOverrides {
  return readYamlFile(path, {
    code: 'PRICES_INVALID',
    schema: overridesShape,
    fix: 'Give each model its prices in whole nano-USD per million tokens ($1 is 1000000000).',
  });
}
