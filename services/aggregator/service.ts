import { lanes, sessionTopic } from '../../schemas/topics.ts';
import { anyLogic, type ServiceFactory } from '../chassis/host/service-context.ts';
import { aggregatorLogic } from './decide.ts';

/** Works on sessions of every lane; touches nothing outside the log. */
export const createAggregator: ServiceFactory = () => ({
  hosted: { logic: anyLogic(aggregatorLogic), topics: lanes.map(sessionTopic) },
});
