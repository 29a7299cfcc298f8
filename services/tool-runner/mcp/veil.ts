/**
 * Takes the secrets that a server was given out of what it says, before anyone stores or logs it: a
 * log and a database of events cannot be cleaned afterwards.
 */

const secretName = /pass|secret|token|key|auth|credential|cookie/i;
/** Shorter values would tear holes into every text. */
const secretCharactersMin = 6;

/** The whole value under a secret's name; of an address with a login, whatever its name, the password too. */
function secretsIn(name: string, value: string): readonly string[] {
  const login = /^[a-z][a-z0-9+.-]*:\/\/[^\s/@]*:([^\s/@]+)@/i.exec(value)?.[1];
  const whole = secretName.test(name) || login !== undefined ? [value] : [];
  const passwords = login === undefined ? [] : [login, decoded(login)];
  return [...whole, ...passwords].filter((one) => one.length >= secretCharactersMin);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A stray percent sign: it stands for itself.
    return text;
  }
}

/** As it is, inside JSON, inside an address, and in base64. */
const formsOf = (secret: string): readonly string[] => [
  ...new Set([
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    Buffer.from(secret).toString('base64'),
  ]),
];

export class Veil {
  readonly #covers: readonly (readonly [value: string, cover: string])[];

  /**
   * `variables`: name and value of each; those that look like a secret neither by their name nor by
   * a login in their value are left alone.
   */
  constructor(variables: readonly (readonly [name: string, value: string])[]) {
    this.#covers = variables
      .flatMap(([name, value]) => secretsIn(name, value).map((secret) => [name, secret] as const))
      .flatMap(([name, secret]) => formsOf(secret).map((form) => [form, `[${name}]`] as const))
      // A form that holds another one goes first.
      .sort(([one], [other]) => other.length - one.length);
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
