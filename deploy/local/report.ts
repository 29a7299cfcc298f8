/**
 * What the local stack tells while it works. The caller decides how a person or a program sees it.
 */

/** `label` names what is being fetched; `totalBytes` is known beforehand from the pins. */
export interface Progress {
  readonly label: string;
  readonly doneBytes: number;
  readonly totalBytes: number;
}

export type StackEvent =
  | ({ readonly kind: 'progress' } & Progress)
  | {
      readonly kind: 'step';
      readonly name: string;
      readonly state:
        | 'starting'
        | 'ready'
        | 'kept'
        | 'given'
        | 'stopping'
        | 'stopped'
        | 'killed'
        | 'gone';
      readonly detail: string;
    }
  | { readonly kind: 'note'; readonly text: string };

export type Report = (event: StackEvent) => void;

/** For callers that do not want to hear anything. */
export const silent: Report = () => undefined;
