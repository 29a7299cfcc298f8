import { testStored } from './stored-schedules.ts';

testStored(1);
