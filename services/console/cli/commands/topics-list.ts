import { readLaneTable } from '../../../../replay-tools/read/lane-table.ts';
import {
  type PartitionSessions,
  readOpenSessions,
} from '../../../../replay-tools/read/open-sessions.ts';
import { laneAt, lanes, sessionTopic } from '../../../../schemas/topics.ts';
import { type LaneGeneration, newestGeneration } from '../../../chassis/host/lane-table.ts';
import type { LogPort } from '../../../chassis/log/port.ts';
import { quietLogger } from '../../../chassis/telemetry/quiet-logger.ts';
import { type Call, type CommandSpec, writeJson } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { withLog } from '../log-client.ts';
import { table } from '../table.ts';

type Line = Readonly<{
  topic: string;
  generation: number;
  partitions: number;
  records: number;
  open: number;
  state: 'new sessions' | 'draining' | 'drained' | 'retired';
}>;

/** What the lanes are made of, and what is still open in each topic; from the log itself. */
export const topicsList: CommandSpec = {
  name: 'list',
  about: 'topics of the lanes by generation, and what is open in them',
  examples: ['longrein topics list', 'longrein topics list --json'],
  async run(call) {
    const lines = await withLog(call.environment, readLines);
    if (call.json) writeJson(call, { topics: lines });
    else call.terminal.out(tell(call, lines));
    return exitCodes.done;
  },
};

async function readLines(log: LogPort): Promise<readonly Line[]> {
  const known = await readLaneTable(log);
  const newest = newestGeneration(known);
  const lines: Line[] = [];
  for (const one of known.generations) {
    const topics = lanes.map((lane) => sessionTopic(laneAt(lane, one.generation)));
    const found = await readOpenSessions(log, quietLogger, topics);
    for (const topic of topics) lines.push(lineOf(topic, { one, isNewest: one === newest, found }));
  }
  return lines;
}

function lineOf(
  topic: string,
  at: { one: LaneGeneration; isNewest: boolean; found: readonly PartitionSessions[] },
): Line {
  const own = at.found.filter((partition) => partition.topic === topic);
  const open = own.reduce((sum, partition) => sum + partition.open.length, 0);
  const records = own.reduce((sum, partition) => sum + partition.records, 0);
  const { generation, partitions, retired } = at.one;
  const drains = open > 0 ? 'draining' : 'drained';
  const state = retired !== undefined ? 'retired' : at.isNewest ? 'new sessions' : drains;
  return { topic, generation, partitions, records, open, state };
}

function tell(call: Call, lines: readonly Line[]): string {
  const { bold, green, yellow, dim } = call.terminal.colors;
  const paints: Record<string, (text: string) => string> = {
    'new sessions': green,
    draining: yellow,
    retired: dim,
  };
  return table({
    columns: [
      { title: 'TOPIC' },
      { title: 'GENERATION', right: true },
      { title: 'PARTITIONS', right: true },
      { title: 'RECORDS', right: true },
      { title: 'OPEN SESSIONS', right: true },
      { title: 'STATE', paint: (cell, value) => paints[value]?.(cell) ?? cell },
    ],
    rows: lines.map((line) => [
      line.topic,
      ...[line.generation, line.partitions, line.records, line.open].map(String),
      line.state,
    ]),
    widthMax: call.terminal.columns,
    paintTitle: bold,
  });
}
