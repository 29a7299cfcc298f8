import { masksFrom } from '../../../chassis/telemetry/masks.ts';
import { masksFileOf } from '../config.ts';
import { type CommandSpec, flagOption, textOption, writeJson } from '../context.ts';
import { exitCodes, UsageError } from '../exit-code.ts';

const roleName = /^[A-Za-z_][A-Za-z0-9_]{0,60}$/;

/** The view of contents that analysts read, with masks over personal data. */
export const masks: CommandSpec = {
  name: 'masks',
  about: 'the view of contents with masks over personal data: print the statements, or apply them',
  options: [
    { flags: '--apply', about: 'make the view; with --role, change the rights of that role too' },
    { flags: '--role <name>', about: 'a role of a server that is to see contents masked only' },
  ],
  examples: ['longrein masks', 'longrein masks --apply --role longrein_analyst'],
  async run(call) {
    const { maskStatements, rightsAreBuiltIn } = await import(
      '../../../event-store/masked-view.ts'
    );
    const { withClickhouse } = await import('../clickhouse-owner.ts');
    const role = textOption(call, 'role');
    if (role !== undefined && !roleName.test(role))
      throw new UsageError(`"${role}" is no name of a role`, 'Name it with letters, digits and _.');
    const rules = masksFrom(masksFileOf(call.environment));
    const applied = flagOption(call, 'apply');
    let statements = maskStatements(rules, role);
    if (applied)
      await withClickhouse(call.environment, async (client) => {
        statements = maskStatements(rules, role, await rightsAreBuiltIn(client));
        for (const query of statements) await client.command({ query });
      });
    if (call.json) writeJson(call, { applied, statements });
    else call.terminal.out(statements.map((one) => `${one};\n`).join(''));
    return exitCodes.done;
  },
};
