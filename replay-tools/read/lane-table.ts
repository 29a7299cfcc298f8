/** Which topics sessions may be in is the chassis's to read: programs that follow sessions ask it too. */
export {
  boundsIfThere,
  everyLaneTopic,
  readLaneTable,
} from '../../services/chassis/host/read-lane-table.ts';
