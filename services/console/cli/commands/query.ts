import { answerFormats } from '../answer-text.ts';
import { type Call, type CommandSpec, listOption, textOption, writeJson } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { pairsOf } from '../pairs.ts';
import { parametersFor, type ReadyQuery, readReadyQueries, readyQuery } from '../ready-query.ts';
import { table } from '../table.ts';
import { parseMoment } from '../time-span.ts';

/** The ready questions of analysts. */
export const query: CommandSpec = {
  name: 'query [name]',
  about: 'answer a ready question about cost, speed, errors or waste; without a name: list them',
  options: [
    { flags: '--since <time>', about: 'from when: 24h, 7d, 2026-03-01 (default 30d)' },
    { flags: '--until <time>', about: 'up to when (default now)' },
    { flags: '--tenant <id>', about: 'of one tenant only' },
    { flags: '--param <name=value...>', about: 'a parameter of the question' },
    { flags: '--format <form>', about: 'table, json or csv', choices: answerFormats },
    { flags: '--print', about: 'print the SQL instead of asking it' },
  ],
  examples: [
    'longrein query',
    'longrein query waste --since 7d',
    'longrein query cost-by-label --param label=team --tenant acme',
  ],
  async run(call) {
    const [name] = call.args;
    if (name === undefined) {
      listAll(call, readReadyQueries());
      return exitCodes.done;
    }
    const found = readyQuery(name);
    if (call.options['print'] === true) {
      call.terminal.out(`${found.sql}\n`);
      return exitCodes.done;
    }
    const nowMs = Date.now();
    const values = parametersFor(found, {
      tenant: textOption(call, 'tenant') ?? '',
      sinceMs: parseMoment(textOption(call, 'since') ?? '30d', nowMs),
      untilMs: parseMoment(textOption(call, 'until') ?? 'now', nowMs),
      more: pairsOf(listOption(call, 'param')),
    });
    const { ask } = await import('../ask.ts');
    await ask(call, found.sql, values);
    return exitCodes.done;
  },
};

function listAll(call: Call, all: readonly ReadyQuery[]): void {
  if (call.json) {
    writeJson(call, { queries: all });
    return;
  }
  const rows = all.map(({ name, title, parameters }) => {
    const takes = parameters.map((one) => one.name).join(', ');
    return [name, takes === '' ? title : `${title} (${takes})`];
  });
  const columns = [{ title: 'QUERY' }, { title: 'ANSWERS' }];
  const { bold, dim } = call.terminal.colors;
  call.terminal.out(
    table({ columns, rows, widthMax: call.terminal.columns, paintTitle: bold }) +
      dim('Run one with: longrein query NAME --since 7d\n'),
  );
}
