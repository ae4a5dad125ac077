import { afterAll, setDefaultTimeout } from 'bun:test';
import { stopServers } from './support/server.ts';

// Preloaded by bunfig.toml. Many tests start servers and programs, which takes a while on a busy machine.
setDefaultTimeout(Number(process.env.SVC_TEST_MS_MAX ?? 240_000));
afterAll(stopServers);
