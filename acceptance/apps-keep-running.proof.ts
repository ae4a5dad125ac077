import { beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, statSync } from 'node:fs';
import { newIdentifiedApp, partsOf, pollAddress, startSupervised } from './suites/supervised-apps.ts';
import { isAlive, postmasterOf, type RunningServer } from './support/server.ts';
import { until } from './support/until.ts';

describe('apps keep running', () => {
  let server: RunningServer;
  let app: Awaited<ReturnType<typeof newIdentifiedApp>>;
  beforeAll(async () => {
    server = await startSupervised();
    app = await newIdentifiedApp(server);
  });

  test.each([
    ['restarts on SIGHUP', () => server.signal('SIGHUP')],
    ['is killed', () => process.kill(partsOf(server).server, 'SIGKILL')],
  ])('in the same process, and without a failed request, while the server %s', async (_, interrupt) => {
    const before = partsOf(server);
    const process = await app.askInstance();
    const asking = pollAddress(app.address);
    interrupt();
    await until(
      'another server runs',
      async () => {
        const now = partsOf(server);
        return now.server !== undefined && now.server !== before.server;
      },
      60_000,
    );
    await until('it shows the app', async () => (await app.ask().catch(() => null))?.status === 200, 60_000);
    expect(await app.ask()).toMatchObject({ status: 200, text: process });
    const asked = await asking.stop();
    expect([asked.failed, asked.texts]).toEqual([0, [process]]);
    expect(partsOf(server).agent).toBe(before.agent);
  });
});

describe('npm start', () => {
  test.skipIf(process.getuid?.() !== 0)('as root runs the server as a user without rights', async () => {
    const server = await startSupervised();
    await newIdentifiedApp(server);
    const { server: pid, agent } = partsOf(server);
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const capabilities = ['CapInh', 'CapPrm', 'CapEff', 'CapAmb'].map(
      (name) => new RegExp(`^${name}:\\s*(\\w+)`, 'm').exec(status)?.[1],
    );
    expect(capabilities).toEqual(Array(4).fill('0000000000000000'));
    expect(status).toMatch(/^NoNewPrivs:\s*1$/m);
    expect([statSync(`/proc/${pid}`).uid === 0, statSync(`/proc/${agent}`).uid]).toEqual([false, 0]);
    expect(await server.stop()).toBe(0);
  });

  test('ends the server, the agent, every app and PostgreSQL on a signal', async () => {
    const server = await startSupervised();
    const app = await newIdentifiedApp(server);
    const all = [...Object.values(partsOf(server)), postmasterOf(server)];
    expect(await server.stop()).toBe(0);
    expect(all.filter(isAlive)).toEqual([]);
    expect(await app.askInstance().catch(() => 'nobody listens')).toBe('nobody listens');
  });

  test('that is killed takes the server, the agent and every app with it', async () => {
    const server = await startSupervised();
    const app = await newIdentifiedApp(server);
    const parts = Object.values(partsOf(server));
    server.signal('SIGKILL');
    await until('they have ended', async () => !parts.some(isAlive), 60_000);
    expect(await app.askInstance().catch(() => 'nobody listens')).toBe('nobody listens');
  });
});
