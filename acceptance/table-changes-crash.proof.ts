import { failedCommits } from './suites/table-changes.ts';

// Kills are in `killed-servers.proof.ts`, and at chosen statements in `server/src/table-changes-crash.proof.ts`.
failedCommits('table');
