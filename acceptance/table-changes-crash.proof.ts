import { failedCommits, killedServers } from './suites/table-changes.ts';

failedCommits('table');
// Most kills are in `server/src/table-changes-crash.proof.ts`, where a process starts sooner.
killedServers({ kills: 5 });
