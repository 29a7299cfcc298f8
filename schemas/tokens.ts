/**
 * A piece of an answer while a model gives it (`public/tokens.v1.json`). `claim` and `try` say which attempt at the call
 * it is of, `at` how many characters of that attempt stand in front of it.
 */
export type ModelTokens = Readonly<{
  session: string;
  call: string;
  agent: string;
  task: string;
  /** `provider/model` that answers. */
  model: string;
  claim: number;
  try: number;
  at: number;
  text: string;
}>;
