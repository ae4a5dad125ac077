import { killedServers } from './suites/table-changes.ts';

killedServers({ kills: Number(process.env.SVC_TEST_SERVER_KILLS ?? 25), apps: 8 });
