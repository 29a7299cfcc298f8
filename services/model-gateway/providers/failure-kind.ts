import type { ModelFailureClass } from './port.ts';

/** What a class of failure means, before anything particular is known. */
export type FailureKind = Readonly<{
  code: string;
  class: ModelFailureClass;
  retryable: boolean;
  fix?: string;
}>;
