import type { ServiceContext, ServiceFactory } from '../chassis/host/service-context.ts';
import { readEventStoreConfig } from './config.ts';
import { openDatabase } from './database.ts';
import { createEventStore } from './event-store.ts';
import type { KeepFailed } from './failed-sessions.ts';
import { measurePools } from './pools-now.ts';

export { createEventStore, type EventStore, type EventStoreOptions } from './event-store.ts';
export type { FailedSession, KeepFailed } from './failed-sessions.ts';

/** What keeps failed sessions in a host; made with what the host has. */
export type FailureKeeping = (context: Pick<ServiceContext, 'config' | 'ports'>) => KeepFailed;

/**
 * Stores every record of every topic in ClickHouse: the address is in the environment or in the
 * local stack's file.
 */
export const createEventStoreService: ServiceFactory = (context) =>
  eventStoreKeeping(undefined)(context);

/** The same, which keeps failed sessions so. */
export const eventStoreKeeping =
  (keeping: FailureKeeping | undefined): ServiceFactory =>
  ({ config, ports, lanes }) => {
    const { logger } = ports;
    const known = { url: config.clickhouseUrl };
    const database = openDatabase(readEventStoreConfig(undefined, known), logger);
    const store = createEventStore({
      ports,
      ...(lanes === undefined ? {} : { lanes }),
      ...database,
      ...(keeping === undefined ? {} : { keepFailed: keeping({ config, ports }) }),
      // The rest of the host can do its work; the events wait in the log.
      onFatal: ({ code, message, fix }) =>
        logger.error({ code, error: message, fix }, 'events are not stored any more'),
    });
    return {
      hosted: store,
      companion: {
        async start(host) {
          measurePools(ports, database.poolsNow);
          store.attach(host);
          await store.start();
        },
        health: () => store.health(),
        // Running inserts end first: the host stops the rest when they have.
        stop: async () => store.drain(),
      },
    };
  };
