import { z } from 'zod';
import { laneAt, lanes, sessionTopic } from '../../../schemas/topics.ts';
import { LongreinError, toError } from '../errors.ts';

/** One generation of the lanes: how many partitions its topics have, and who wanted them. */
const generation = z.strictObject({
  generation: z.int().min(1).max(9_999),
  partitions: z.int().min(1).max(1_024),
  addedAtMs: z.int().min(0),
  by: z.string().max(200),
  reason: z.string().max(1_000),
  /** Said when its last session had ended: hosts read it no more. */
  retired: z
    .strictObject({ atMs: z.int().min(0), by: z.string().max(200), reason: z.string().max(1_000) })
    .optional(),
});

const tableSchema = z.strictObject({ generations: z.array(generation).min(1).max(100) });

export type LaneGeneration = z.infer<typeof generation>;
/** All generations, oldest first. New sessions go to the last one. */
export type LaneTable = z.infer<typeof tableSchema>;

/** Key of the record in the registry topic that holds the table. */
export const laneTableKey = 'topics/lanes';

/** The table of an installation that was never rescaled. */
export const firstTable = (partitions: number): LaneTable => ({
  generations: [{ generation: 1, partitions, addedAtMs: 0, by: '', reason: '' }],
});

/** Reads the value of the registry's record. Throws LongreinError LANE_TABLE_INVALID. */
export function parseLaneTable(value: Uint8Array): LaneTable {
  try {
    return tableSchema.parse(JSON.parse(Buffer.from(value).toString('utf8')));
  } catch (thrown) {
    throw new LongreinError(
      'LANE_TABLE_INVALID',
      `the record ${laneTableKey} of the registry cannot be read: ${toError(thrown).message}`,
      { fix: 'a newer release may have written it: update this one', cause: thrown },
    );
  }
}

const live = ({ generations }: LaneTable): readonly LaneGeneration[] =>
  generations.filter(({ retired }) => retired === undefined);

/** The generation that new sessions go to. */
export function newestGeneration({ generations }: LaneTable): LaneGeneration {
  const newest = generations.at(-1);
  if (newest === undefined) throw new LongreinError('LANE_TABLE_INVALID', 'it has no generation');
  return newest;
}

/** Topics of the lanes of every generation that hosts still read, with their partitions. */
export const laneTopics = (table: LaneTable): readonly { topic: string; partitions: number }[] =>
  live(table).flatMap(({ generation: number, partitions }) =>
    lanes.map((lane) => ({ topic: sessionTopic(laneAt(lane, number)), partitions })),
  );

/**
 * The table with one more generation. Throws LongreinError LANES_UNCHANGED where the newest has that many partitions
 * already.
 */
export function withGeneration(
  table: LaneTable,
  added: Omit<LaneGeneration, 'generation' | 'retired'>,
): LaneTable {
  const newest = newestGeneration(table);
  if (newest.partitions === added.partitions)
    throw new LongreinError(
      'LANES_UNCHANGED',
      `new sessions go to ${added.partitions} partitions already (generation ${newest.generation})`,
      { fix: 'name another number of partitions' },
    );
  const generations = [...table.generations, { ...added, generation: newest.generation + 1 }];
  return { generations };
}

/** The table with a generation that is read no more. Throws LongreinError GENERATION_UNKNOWN or GENERATION_IN_USE. */
export function withoutGeneration(
  table: LaneTable,
  number: number,
  retired: NonNullable<LaneGeneration['retired']>,
): LaneTable {
  const found = live(table).find((one) => one.generation === number);
  if (found === undefined)
    throw new LongreinError(
      'GENERATION_UNKNOWN',
      `no generation ${number} of the lanes is in use`,
      {
        fix: `those in use: ${live(table)
          .map((one) => one.generation)
          .join(', ')}`,
      },
    );
  if (found === newestGeneration(table))
    throw new LongreinError('GENERATION_IN_USE', `new sessions go to generation ${number}`, {
      fix: 'only an older generation can be retired',
    });
  return {
    generations: table.generations.map((one) => (one === found ? { ...one, retired } : one)),
  };
}
