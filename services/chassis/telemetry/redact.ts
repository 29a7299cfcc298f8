/** Names of members whose values are never logged or stored. Matched anywhere in the name, in any case. */
const secretName =
  /pass(word|wd|phrase)|(^|[-_])pass$|secret|token|authorization|api[-_]?key|cookie|credential|private[-_]?key/i;
/** `dbPass`, but not `compass`. */
const camelPass = /[a-z]Pass$/;
const countName = /tokens?(max|min|count)?$/i;
const masked = '[redacted]';
const depthMax = 12;

/** Numbers of tokens, alone or by kind: `inputTokens: 3`, `tokens: { input: 3 }`. */
function isCount(name: string, value: unknown): boolean {
  if (!countName.test(name)) return false;
  if (value === null || typeof value !== 'object') return typeof value === 'number';
  return Object.values(value).every((one) => typeof one === 'number');
}

function isSecret(name: string, value: unknown): boolean {
  if (value === null || value === undefined || typeof value === 'boolean') return false;
  return (secretName.test(name) || camelPass.test(name)) && !isCount(name, value);
}

/** What is a secret by its form, wherever it stands in a text; what comes before it stays. */
const secretForms: readonly RegExp[] = [
  // URLs lose their password.
  /(\b\w{1,30}:\/\/[^\s:/@]{0,200}:)[^\s@/]+(?=@)/g,
  /(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/-]{8,}=*/gi,
  /(\b(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[-_]?key|access[-_]?key)["']?\s*[=:]\s*["']?)[^\s"',;&)}]{6,}/gi,
  /()\b(?:sk|pk|rk)-[A-Za-z0-9_-]{8,}/g,
  /()\bgh[pousr]_[A-Za-z0-9]{20,}/g,
  /()\bxox[abprs]-[A-Za-z0-9-]{10,}/g,
  /()\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /()\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
];

/** The text without what is a secret by its form. */
export const maskSecrets = (text: string): string =>
  secretForms.reduce((rest, form) => rest.replace(form, `$1${masked}`), text);

/** What is masked besides secrets. */
export type Covering = Readonly<{ text(text: string): string; fields: readonly string[] }>;

const nothingMore: Covering = { text: (text) => text, fields: [] };

/** A copy in which values under secret names are masked, at any depth. For logs; never in place. */
export function redact(value: unknown, covering: Covering = nothingMore, depth = 0): unknown {
  const text = (one: string): string => covering.text(maskSecrets(one));
  if (typeof value === 'string') return text(value);
  if (value === null || typeof value !== 'object') return value;
  if (depth >= depthMax) return '[too deep]';
  if (value instanceof Error) return { name: value.name, message: text(value.message) };
  if (Array.isArray(value)) return value.map((item) => redact(item, covering, depth + 1));
  const isCovered = (name: string): boolean => covering.fields.includes(name.toLowerCase());
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      isSecret(name, member) || isCovered(name) ? masked : redact(member, covering, depth + 1),
    ]),
  );
}
