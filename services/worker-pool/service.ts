import { lanes, sessionTopic } from '../../schemas/topics.ts';
import { anyLogic, type ServiceFactory } from '../chassis/host/service-context.ts';
import { createWorkerPoolLogic } from './decide.ts';

/** The agents of one pool. */
export const createWorkerPool =
  (pool: string): ServiceFactory =>
  () => ({
    hosted: { logic: anyLogic(createWorkerPoolLogic(pool)), topics: lanes.map(sessionTopic) },
  });
