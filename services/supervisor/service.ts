import { lanes, sessionTopic } from '../../schemas/topics.ts';
import { anyLogic, type ServiceFactory } from '../chassis/host/service-context.ts';
import { supervisorLogic } from './decide.ts';

/** Works on sessions of every lane; touches nothing outside the log. */
export const createSupervisor: ServiceFactory = () => ({
  hosted: {
    logic: anyLogic(supervisorLogic),
    topics: lanes.map(sessionTopic),
    keepsLetters: lanes.map(sessionTopic),
  },
});
