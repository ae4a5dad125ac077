import { beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { nodeApp } from './support/apps.ts';
import { type Svc, svcFor } from './support/commands.ts';
import { type App, done, newApp } from './support/people.ts';
import { type Files, folderOf, root } from './support/server.ts';
import { until } from './support/until.ts';
import { newWorld, type World } from './support/world.ts';

let world: World;
let asOwner: Svc;
let app: App;
beforeAll(async () => {
  world = await newWorld();
  const { server, slug } = world.tenant;
  asOwner = svcFor(server, { token: world.people.O.token, tenant: slug });
  app = await newApp(world.tenant, { owner: world.people.O }, { deploy_method: 'docker' });
  const manifest = `start: node server.js
release: echo "release of $SVC_APP_ID"
schedules:
  - { name: report, cron: "30 2 * * *", timezone: Europe/Berlin, run: "echo reported; exit 5" }
`;
  const deployed = await deploy({ ...nodeApp('one'), 'svc.yaml': manifest });
  expect([deployed.code, deployed.stderr]).toEqual([0, expect.stringContaining(`release of ${app.id}`)]);
});

const deploy = (files: Files) =>
  asOwner(['deploy', '--app', app.id, '--from-dir', folderOf(files), '--execute']);
const runs = async () =>
  (await asOwner(['runs', 'list', '--app', app.id, '--json'])).json<{ items: Run[] }>().items;

describe('svc run', () => {
  test('passes both streams and the exit code on, and the run is listed', async () => {
    const ran = await asOwner(['run', '--app', app.id, '--', 'echo out; echo err >&2; exit 42']);
    expect(ran).toMatchObject({ code: 42, stdout: 'out\n', stderr: 'err\n' });
    const words = await asOwner(['run', '--app', app.id, '--', 'node', '-p', '"a b".length']);
    expect(words).toMatchObject({ code: 0, stdout: '3\n' });
    const json = await asOwner(['run', '--json', '--app', app.id, '--', 'echo', 'out']);
    expect([json.stderr, json.json()]).toEqual(['out\n', expect.objectContaining({ exit_code: 0 })]);
    expect((await runs()).slice(0, 3)).toMatchObject([
      { command: 'echo out', state: 'succeeded' },
      { command: `node -p '"a b".length'`, state: 'succeeded', exit_code: 0 },
      { command: 'echo out; echo err >&2; exit 42', state: 'failed', exit_code: 42 },
    ]);
  });

  test('loses no line of fast output', async () => {
    const count = 15_000;
    const ran = await asOwner(['run', '--app', app.id, '--', `seq ${count}; seq ${count} >&2; exit 3`]);
    const expected = `${Array.from({ length: count }, (_, at) => at + 1).join('\n')}\n`;
    expect(ran.code).toBe(3);
    expect(ran.stdout === expected && ran.stderr === expected).toBe(true);
  });

  test('stops the command at Ctrl-C, and at the end of --timeout', async () => {
    const late = await asOwner(['run', '--app', app.id, '--timeout', '3s', '--', 'sleep', '600']);
    expect([late.code, late.stderr]).toEqual([10, expect.stringContaining('not ended after 3s')]);
    const { server, slug } = world.tenant;
    const child = Bun.spawn([join(root, 'svc'), 'run', '--app', app.id, '--', 'echo begun; sleep 601'], {
      env: {
        ...process.env,
        SVC_BASE_URL: server.baseUrl,
        SVC_TOKEN: world.people.O.token,
        SVC_TENANT: slug,
      },
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const reader = child.stdout.getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('begun\n');
    child.kill('SIGINT');
    expect([await child.exited, await new Response(child.stderr).text()]).toEqual([
      130,
      expect.stringContaining('The command is stopped'),
    ]);
    expect((await runs()).slice(0, 2)).toMatchObject([
      { state: 'canceled' },
      { state: 'failed', failure: expect.stringContaining('time limit of 3 seconds') },
    ]);
  });

  test('works with a token that may deploy, and with no other', async () => {
    const call = async (actions: string[]) => {
      const body = { name: actions.join(), actions };
      const { secret } = await done(world.people.O.call('POST', `${world.tenant.base}/pats`, body));
      const env = { SVC_TOKEN: undefined, SVC_API_KEY: secret };
      return (await asOwner(['run', '--app', app.id, '--', 'exit 6'], { env })).code;
    };
    expect([await call(['deploy']), await call(['code'])]).toEqual([6, 4]);
  });
});

describe('a release command', () => {
  test('that fails ends svc deploy with 9 and its output; the version before stays live', async () => {
    const manifest = 'start: node server.js\nrelease: echo "migrating"; exit 3\n';
    const failed = await deploy({ ...nodeApp('two'), 'svc.yaml': manifest });
    expect(failed.code).toBe(9);
    expect(failed.stderr).toContain('migrating');
    expect(failed.stderr).toMatch(/failed at release: .*exit code 3.*previous deployment is still live/s);
  });
});

describe('svc schedules', () => {
  test('lists the next time, runs a schedule now, and shows its runs', async () => {
    const list = async () => (await asOwner(['schedules', 'list', '--app', app.id, '--json'])).json();
    expect(await list()).toMatchObject({
      items: [{ name: 'report', timezone: 'Europe/Berlin', next_at: expect.stringMatching(/T0[01]:30/) }],
    });
    const preview = await asOwner(['schedules', 'run', 'report', '--app', app.id]);
    expect([preview.code, (await list()).items]).toMatchObject([0, [{ last: null }]]);
    const ran = await asOwner(['schedules', 'run', 'report', '--app', app.id, '--execute']);
    expect(ran).toMatchObject({ code: 5, stdout: 'reported\n' });
    const shown = await asOwner(['schedules', 'runs', 'report', '--app', app.id, '--json']);
    expect(shown.json()).toMatchObject({ items: [{ state: 'failed', exit_code: 5, due_at: null }] });
    await until('the list has the last run', async () => {
      const [{ last }] = (await list()).items as [{ last: Run | null }];
      return last?.state === 'failed';
    });
  });
});

interface Run {
  id: string;
  state: string;
  command: string;
}
