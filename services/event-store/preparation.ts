import { LongreinError, toError } from '../chassis/errors.ts';
import type { HostPorts } from '../chassis/host/ports.ts';

export type PreparationParts = Readonly<{
  ports: Pick<HostPorts, 'clock' | 'logger'>;
  /** Called again while it fails with a retryable LongreinError. */
  prepare(): Promise<void>;
  /** It failed for good after the start had gone on without it. */
  onFatal(error: LongreinError): void;
}>;

/** The database on its way to the shape of this release. */
export type Preparation = Readonly<{
  prepared: Promise<void>;
  /**
   * Waits for a database that is away only a moment. Throws what `prepare` throws for good until
   * then.
   */
  begin(): Promise<void>;
  /** Why it is not done yet, in words; undefined when it is. */
  waits(): string | undefined;
  stop(): void;
}>;

/** How long the start waits for a database that neither answers nor fails. */
const patienceMs = 5_000;
const retryMs = 2_000;

export function createPreparation(parts: PreparationParts): Preparation {
  let stopped = false;
  let waits: string | undefined = 'it has not answered yet';
  let done: () => void = () => undefined;
  const prepared = new Promise<void>((resolve) => {
    done = resolve;
  });
  return {
    prepared,
    waits: () => waits,
    begin: () =>
      new Promise((resolve, reject) => {
        let waiting = true;
        const goOn = (): void => {
          waiting = false;
          resolve();
        };
        const cancel = parts.ports.clock.after(patienceMs, () => {
          const message = 'ClickHouse does not answer; events wait in the log until it does';
          parts.ports.logger.warn({ waitedMs: patienceMs }, message);
          goOn();
        });
        const onAway = (error: LongreinError): void => {
          waits = error.message;
          goOn();
        };
        atLast(parts, { isStopped: () => stopped, onAway })
          .then(() => {
            if (!stopped) {
              waits = undefined;
              done();
            }
            goOn();
          })
          .catch((thrown: unknown) => {
            waits = asKnown(thrown).message;
            if (waiting) reject(toError(thrown));
            else parts.onFatal(asKnown(thrown));
          })
          .finally(cancel);
      }),
    stop() {
      stopped = true;
    },
  };
}

async function atLast(
  { ports, prepare }: PreparationParts,
  on: { isStopped: () => boolean; onAway: (error: LongreinError) => void },
): Promise<void> {
  for (let attempt = 1; !on.isStopped(); attempt += 1) {
    try {
      await prepare();
      if (attempt > 1) ports.logger.info({ attempt }, 'ClickHouse is ready');
      return;
    } catch (thrown) {
      const error = asKnown(thrown);
      if (!error.retryable) throw error;
      const fields = { code: error.code, error: error.message, fix: error.fix, attempt };
      // The first failure and then ever fewer: an outage is one story, not thousands.
      if (Number.isInteger(Math.log2(attempt)))
        ports.logger.warn(fields, 'ClickHouse cannot be prepared yet; trying on');
      on.onAway(error);
    }
    await new Promise<void>((resolve) => {
      ports.clock.after(retryMs, resolve);
    });
  }
}

function asKnown(thrown: unknown): LongreinError {
  if (thrown instanceof LongreinError) return thrown;
  const { message } = toError(thrown);
  return new LongreinError('EVENT_STORE_NOT_PREPARED', message, { cause: thrown });
}
