import { failedCommits, killedServers } from './suites/table-changes.ts';

failedCommits({ changesPerPoint: Number(process.env.SVC_TEST_TABLE_FAULTS ?? 200) });
// Most kills are in `server/src/table-changes-crash.proof.ts`, where a process starts sooner.
killedServers({ kills: 5 });
