import type { PartitionName } from '../log/port.ts';

/** Commands that mend what stopped, as messages name them. Each is an act of a person, recorded with who and why. */

/** Goes on from what the partition holds now; what it lost is given up. */
export const resetCommand = ({ topic, partition }: PartitionName): string =>
  `longrein topics reset ${topic} --partition ${partition} --reason "WHY"`;

/** Goes on from the end of the partition; all that is in it is given up, also what its watermarks can still be read from. */
export const giveUpCommand = ({ topic, partition }: PartitionName): string =>
  `longrein topics reset ${topic} --partition ${partition} --from-end --reason "WHY"`;

export const resetTopicCommand = (topic: string): string =>
  `longrein topics reset ${topic} --reason "WHY"`;

export const retireCommand = (service: string): string =>
  `longrein services retire ${service} --reason "WHY"`;

export const reinstateCommand = (service: string): string =>
  `longrein services reinstate ${service} --reason "WHY"`;
