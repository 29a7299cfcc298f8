import { newestGeneration } from '../../../chassis/host/lane-table.ts';
import { type Call, type CommandSpec, textOption, writeJson } from '../context.ts';
import { exitCodes, UsageError } from '../exit-code.ts';
import { addGeneration } from '../lane-change.ts';
import { withLog } from '../log-client.ts';
import { deedOf, reasonOptions } from '../who.ts';

/** New sessions go to new topics; those that run end where they are. */
export const topicsRescale: CommandSpec = {
  name: 'rescale',
  about: 'give new sessions topics with another number of partitions',
  options: [{ flags: '--partitions <n>', about: 'of each lane, from now on' }, ...reasonOptions],
  examples: ['longrein topics rescale --partitions 24 --reason "more hosts than partitions"'],
  async run(call) {
    const partitions = partitionsOf(call);
    const deed = deedOf(call);
    const after = await withLog(call.environment, (log) => addGeneration(log, partitions, deed));
    const { generation } = newestGeneration(after);
    if (call.json) writeJson(call, { generation, partitions, table: after });
    else
      call.terminal.out(
        `New sessions go to generation ${generation}: ${partitions} partitions a lane. Hosts follow by themselves.\n` +
          'Sessions that run end where they are. See how far it is: longrein topics list\n' +
          `Once the old generation is drained: longrein topics retire ${generation - 1} --reason "…"\n`,
      );
    return exitCodes.done;
  },
};

const partitionsMax = 1_024;

function partitionsOf(call: Call): number {
  const given = textOption(call, 'partitions');
  if (given === undefined)
    throw new UsageError('there is no number of partitions', 'Say it: --partitions 24');
  const partitions = /^[1-9]\d{0,3}$/.test(given) ? Number(given) : 0;
  if (partitions >= 1 && partitions <= partitionsMax) return partitions;
  throw new UsageError(
    `--partitions "${given}" is not a number of partitions`,
    `Write a whole number from 1 to ${partitionsMax}.`,
  );
}
