import { lanes, sessionTopic } from '../../schemas/topics.ts';
import { anyLogic, type ServiceFactory } from '../chassis/host/service-context.ts';
import { toolGuardLogic } from './decide.ts';

/** Works on sessions of every lane; touches nothing outside the log. */
export const createToolGuard: ServiceFactory = () => ({
  hosted: { logic: anyLogic(toolGuardLogic), topics: lanes.map(sessionTopic) },
});
