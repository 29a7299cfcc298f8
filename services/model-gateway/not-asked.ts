import type { DataOf } from '../../schemas/event.ts';

/** Why a model is not asked. */
export type NotAsked = DataOf<'model.deferred'>['waitsFor'][number];
export type NotAskedBecause = NotAsked['because'];
