import { sinksTopic, type TopicDefinition, topics } from '../../schemas/topics.ts';

/** Topics whose records are stored. */
export const storedTopics: readonly TopicDefinition[] = topics.filter(
  ({ kind, name }) => (kind === 'session-log' || kind === 'public') && name !== sinksTopic,
);
