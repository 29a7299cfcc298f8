import { keysTopic } from '../../schemas/topics.ts';
import { LongreinError } from '../chassis/errors.ts';
import { anyLogic, type ServiceFactory } from '../chassis/host/service-context.ts';
import { intakeLogic } from './decide.ts';
import { GoalIngest } from './ingest.ts';

/** Goal logs and key logs, and the reader of the public goals topic beside them. */
export const createIntake: ServiceFactory = ({ catalog, config, ports, lanes, onFatal }) => {
  const ingest = new GoalIngest({
    ports,
    catalog,
    laneOf: (priority) => lanes?.laneOf(priority) ?? priority,
    housekeepingMs: config.housekeepingMs,
    onFatal: (cause) => {
      const message = `goals are not read any more: ${cause.message}`;
      onFatal(new LongreinError('GROUP_LOST', message, { cause, retryable: true }));
    },
  });
  return {
    hosted: { logic: anyLogic(intakeLogic), topics: [keysTopic], keepsLetters: [keysTopic] },
    companion: { start: (host) => ingest.start(host), stop: () => ingest.stop() },
  };
};
