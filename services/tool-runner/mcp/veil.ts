/**
 * Takes the secrets that a server was given out of what it says, before anyone stores or logs it: a
 * log and a database of events cannot be cleaned afterwards.
 */

const secretName = /pass|secret|token|key|auth|credential|cookie/i;
/** Shorter values would tear holes into every text. */
const secretCharactersMin = 6;

export class Veil {
  readonly #covers: readonly (readonly [value: string, cover: string])[];

  /**
   * `variables`: name and value of each; those whose names do not look like a secret's are left
   * alone.
   */
  constructor(variables: readonly (readonly [name: string, value: string])[]) {
    this.#covers = variables
      .filter(([name, value]) => secretName.test(name) && value.length >= secretCharactersMin)
      .flatMap(([name, value]) => [
        [value, `[${name}]`] as const,
        [JSON.stringify(value).slice(1, -1), `[${name}]`] as const,
      ]);
  }

  /**
   * The text with every secret replaced by the name of its variable; also where it stands inside
   * JSON.
   */
  cover(text: string): string {
    return this.#covers.reduce(
      (covered, [value, cover]) => covered.replaceAll(value, () => cover),
      text,
    );
  }
}
