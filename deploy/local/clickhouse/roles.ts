/**
 * Rights inside the engine. It knows one user, who has all of these roles; a statement of an analyst gives up the others before
 * it runs. What an analyst may read is checked by the engine itself, however the statement is written. What a server has by
 * deploy/clickhouse/access/analyst.sql and `longrein masks --role` stands here as a file that nobody can change by SQL.
 */
const ownerRole = 'longrein_owner';
export const analystRole = 'longrein_analyst';
/** For analysts once contents have a view with masks: the columns that hold them as they are stay shut. */
export const maskedAnalystRole = 'longrein_analyst_masked';

/** The view whose being there says that analysts are to see contents masked only. */
export const maskedView = 'contents_masked';

const reading = ['GRANT SELECT, SHOW ON longrein.*', 'GRANT SELECT, SHOW ON system.*'];

const roles: Readonly<Record<string, readonly string[]>> = {
  [ownerRole]: ['GRANT ALL ON *.*'],
  [analystRole]: reading,
  [maskedAnalystRole]: [...reading, 'REVOKE SELECT(content, record) ON longrein.events'],
};

const element = (name: string, inside: string): string => `<${name}>${inside}</${name}>`;

const grants = (statements: readonly string[]): string =>
  element('grants', statements.map((one) => element('query', one)).join(''));

/** The engine's file of users and roles. */
export function rolesFile(): string {
  const user =
    element('no_password', '') +
    element('networks', element('ip', '127.0.0.1')) +
    element('profile', 'default') +
    element('quota', 'default') +
    grants([`GRANT ${Object.keys(roles).join(', ')}`]);
  const all = Object.entries(roles).map(([name, rights]) => element(name, grants(rights)));
  const parts = [
    element('profiles', element('default', '')),
    element('quotas', element('default', '')),
    element('roles', all.join('')),
    element('users', element('default', user)),
  ];
  return `${element('clickhouse', parts.join('\n'))}\n`;
}
