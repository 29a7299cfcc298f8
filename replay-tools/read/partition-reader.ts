/** Reading one partition from here to there is the chassis's: programs that follow sessions do it too. */
export { readPartition } from '../../services/chassis/log/partition-reader.ts';
