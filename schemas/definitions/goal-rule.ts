/** Which goals go where, as an operator wrote it; the first rule that fits counts. */
export type GoalRule = Readonly<{
  name: string;
  /** All of it has to fit; what is left out fits every goal. */
  when: Readonly<{
    tenants?: readonly string[];
    /** Values of the label `category`. */
    categories?: readonly string[];
    plans?: readonly string[];
    labels?: Readonly<Record<string, string>>;
  }>;
  /** In the place of the goal's own priority. */
  lane?: 'high' | 'normal' | 'bulk';
  /** Only these pools may work on it. */
  pools?: readonly string[];
}>;
