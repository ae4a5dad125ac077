import { beforeEach, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BootstrapRun } from '@svc/contract/bootstrap.shapes.ts';
import { bootstrapSteps } from '@svc/contract/bootstrap.ts';
import { answerOf, problem, type Seen } from '../../testing/answers.ts';
import { type FakeGitHost, issueCode, issueCodes, secretCode } from '../../testing/fake-git-host.ts';
import { useFakeServer } from '../../testing/fake-server.ts';
import { interruptWhen, newFolder, type RunOptions } from '../../testing/run-svc.ts';
import type { RunRecord } from './watch-run.ts';

const server = useFakeServer();
const id = '01977777-7777-7777-8777-777777777777';
let dir: string;
let host: FakeGitHost;
/** Answers to polls of the run, in order; the last one repeats. */
let looks: (RunRecord | Response)[];
let needsApproval: boolean;
beforeEach(() => {
  dir = join(newFolder(), 'config');
  host = issueCodes(server);
  needsApproval = false;
  looks = [runAt('done')];
  host.also = (seen) => {
    if (seen.query.get('dry_run') === 'true') return undefined;
    if (isStart(seen)) {
      const waits = needsApproval && !host.isLinked;
      const started = runAt(waits ? 'awaiting_approval' : 'running', waits ? 0 : 2);
      return Response.json({ ...started, approval: waits ? issueCode(host) : null }, { status: 201 });
    }
    if (!seen.path.includes('/bootstraps/')) return undefined;
    const next = looks.length > 1 ? looks.shift() : looks[0];
    return next instanceof Response ? next.clone() : Response.json(next);
  };
});

const isStart = ({ method, path }: Seen) => method === 'POST' && /\/(?:bootstraps|forks)$/.test(path);
const keptFile = () => {
  const folder = join(dir, 'git-host');
  const [file] = existsSync(folder) ? readdirSync(folder) : [];
  return file === undefined ? null : join(folder, file);
};
const kept = () => {
  const file = keptFile();
  return file === null ? null : JSON.parse(readFileSync(file, 'utf8'));
};
/** Skips the time until the next poll. */
const askable = () =>
  writeFileSync(keptFile()!, JSON.stringify({ ...kept(), next_poll_at: '2020-01-01T00:00:00.000Z' }));

/** A run with this many steps done and the next one in progress. */
function runAt(
  state: RunRecord['state'],
  done: number = bootstrapSteps.length,
  more: Partial<RunRecord> = {},
): RunRecord {
  const sample = answerOf({ shape: { answer: BootstrapRun } }) as RunRecord;
  const time = '2031-05-01T12:00:00.000Z';
  return {
    ...sample,
    id,
    state,
    slug: 'hello',
    failure: null,
    undo: [],
    step: bootstrapSteps[done] ?? null,
    url: 'http://hello.apps.localhost/',
    clone_url: 'http://localhost/git/demo/hello.git',
    steps: bootstrapSteps.map((name, at) => ({
      name,
      attempts: 1,
      detail: at < done ? `made ${name}` : '',
      started_at: at <= done ? time : null,
      state: at < done ? 'done' : at === done ? 'running' : 'waiting',
      ended_at: at < done ? time : null,
    })),
    ...more,
  };
}

function run(argv: string[], options: RunOptions = {}) {
  return server.svc(['apps', ...argv], { ...options, env: { SVC_CONFIG_DIR: dir, ...options.env } });
}
const bootstrap = (flags: string[], options: RunOptions = {}) =>
  run(['bootstrap', '--template', 'react', '--slug', 'hello', ...flags], options);
const watch = (flags: string[] = [], options: RunOptions = {}) =>
  run(['bootstrap-status', id, '--watch', '--watch-interval', '1s', ...flags], options);

describe('svc apps bootstrap', () => {
  test('sends the flags, and prints the run', async () => {
    const flags = [
      '--name',
      'Hello',
      '--subdomain',
      'hi',
      '--git-host-owner',
      'acme',
      '--installation-id',
      '7',
    ];
    const ran = await bootstrap([
      ...flags,
      '--repo-name',
      'hello-web',
      '--repo-public',
      '--execute',
      '--json',
    ]);
    expect([ran.exit, JSON.parse(ran.out)]).toMatchObject([0, { id, state: 'running', approval: null }]);
    expect(JSON.parse(server.seen.find(isStart)?.body ?? '')).toEqual({
      template: 'react',
      slug: 'hello',
      name: 'Hello',
      subdomain: 'hi',
      git_host_owner: 'acme',
      installation_id: 7,
      repo_name: 'hello-web',
      repo_private: false,
    });
    expect(ran.err).toContain(`svc apps bootstrap-status ${id} --watch`);
  });

  test('makes the repository private by default', async () => {
    for (const [flags, isPrivate] of [
      [[], true],
      [['--repo-private'], true],
      [['--repo-private=false'], false],
      [['--repo-public'], false],
    ] as const) {
      server.seen = [];
      await bootstrap([...flags, '--execute']);
      expect([flags, JSON.parse(server.seen.find(isStart)?.body ?? '').repo_private]).toEqual([
        flags,
        isPrivate,
      ]);
    }
  });

  test.each([
    ['--slug hello', '--template'],
    ['--template react', '--slug or --name'],
    ['--template react --slug a --repo-public --repo-private', 'cannot be combined'],
    ['--template react --slug a --watch --watch-interval 500ms', '1s'],
    ['--template react --slug a --watch-interval 5s', '--watch'],
    ['--template react --slug a --wait-approval 1m', '--device-code or --resume-last'],
    ['--resume-last --wait-approval 5s', '6s'],
    ['--template react --slug a --installation-id x', 'whole number'],
  ])('%s is a usage error before any request', async (flags, message) => {
    const ran = await run(['bootstrap', ...flags.split(' '), '--execute']);
    expect([ran.exit, server.seen, ran.err.includes(message)]).toEqual([2, [], true]);
  });

  test('with --watch prints each change once, and the result', async () => {
    looks = [runAt('running', 2), runAt('running', 5), runAt('done')];
    const ran = await bootstrap(['--execute', '--watch', '--watch-interval', '1s']);
    expect(ran.exit).toBe(0);
    const lines = ran.err.split('\n').filter((line) => line.startsWith('create_repo'));
    expect(lines).toEqual(['create_repo: running', 'create_repo: done (made create_repo)']);
    expect(ran.out).toContain('http://hello.apps.localhost/');
    expect(ran.out).toContain('http://localhost/git/demo/hello.git');
  });

  test('without a linked account shows a code, stores it with the run, and exits with 11', async () => {
    needsApproval = true;
    const ran = await bootstrap(['--execute', '--watch', '--json']);
    expect([ran.exit, JSON.parse(ran.out)]).toMatchObject([
      11,
      { id, state: 'awaiting_approval', approval: { device_code: secretCode } },
    ]);
    expect(ran.err).toContain('enter the code WDJB-MJHT');
    expect(ran.err).toContain(
      'svc apps bootstrap --resume-last --wait-approval 10m --tenant demo --watch --execute',
    );
    expect(ran.err).not.toContain(secretCode);
    expect(kept()).toMatchObject({ purpose: 'bootstrap', run_id: id });
  });

  test('that waits for an approval shows the id of the run and the line to continue', async () => {
    needsApproval = true;
    for (const line of [
      ['bootstrap', '--template', 'react', '--slug', 'hello'],
      ['fork', 'pet-shop', '--slug', 'hello'],
    ]) {
      const ran = await run([...line, '--execute']);
      expect([ran.exit, ran.out]).toEqual([
        11,
        `Run ${id} needs your approval at the git host.\n` +
          'After the approval: svc apps bootstrap --resume-last --wait-approval 10m --tenant demo --watch --execute\n',
      ]);
    }
  });

  test.each(['canceled', 'failed'] as const)(
    'that is %s before the code is approved is not reported as continuing',
    async (state) => {
      needsApproval = true;
      await bootstrap(['--execute']);
      looks = [runAt(state, 0, { undo: ['svc apps delete hello --execute'] })];
      const ran = await run(['bootstrap', '--resume-last', '--execute', '--json']);
      expect([ran.exit, JSON.parse(ran.out)]).toMatchObject([9, { id, state, approval: null }]);
      expect(ran.err).toContain(state === 'canceled' ? 'The run was canceled.' : 'The run failed');
      expect([ran.err.includes('goes on'), ran.err.includes('svc apps delete hello')]).toEqual([false, true]);
    },
  );

  test('with an unknown code reports only that', async () => {
    host.polls = ['foreign'];
    const flags = ['--device-code', 'mine', '--wait-approval', '6s', '--execute'];
    const ran = await run(['bootstrap', ...flags]);
    expect([ran.exit, ran.err.split('\n')[0]]).toEqual([5, expect.stringContaining('(not_found)')]);
    expect([ran.err.includes('templates'), ran.err.includes('--device-code')]).toEqual([false, true]);
  });

  test('continues the run after the approval', async () => {
    needsApproval = true;
    await bootstrap(['--execute']);
    host.polls = ['pending', 'linked'];
    looks = [runAt('running', 2), runAt('done')];
    const flags = ['--resume-last', '--wait-approval', '1m', '--watch', '--watch-interval', '1s'];
    const ran = await run(['bootstrap', ...flags, '--execute', '--json']);
    expect([ran.exit, JSON.parse(ran.out)]).toMatchObject([0, { id, state: 'done', approval: null }]);
    expect([server.seen.filter(isStart).length, kept()]).toEqual([1, null]);
  });

  test('polls once without --wait-approval, and exits with 11 before the approval', async () => {
    needsApproval = true;
    await bootstrap(['--execute']);
    host.polls = ['pending'];
    askable();
    const ran = await run(['bootstrap', '--resume-last', '--execute', '--json']);
    expect([ran.exit, JSON.parse(ran.out)]).toMatchObject([11, { status: 'pending', run_id: id }]);
    expect(host.polledCodes).toHaveLength(1);
  });

  test('on a terminal waits for the approval, then for the run', async () => {
    needsApproval = true;
    host.polls = ['pending', 'linked'];
    const ran = await bootstrap(['--execute', '--watch'], { terminal: true });
    expect([ran.exit, host.polledCodes.length]).toEqual([0, 2]);
  });

  test('starts with an approved code from another machine', async () => {
    needsApproval = true;
    const ran = await bootstrap(['--execute', '--device-code', 'mine', '--json']);
    expect([ran.exit, JSON.parse(ran.out).approval, host.polledCodes]).toEqual([0, null, ['mine']]);
    const only = await run(['bootstrap', '--device-code', 'mine', '--execute', '--json']);
    expect([only.exit, JSON.parse(only.out).status]).toEqual([0, 'linked']);
  });

  test('previews without starting anything, and without printing a code', async () => {
    needsApproval = true;
    expect((await bootstrap([])).exit).toBe(0);
    const ran = await run(['bootstrap', '--device-code', secretCode]);
    expect([ran.exit, (ran.out + ran.err).includes(secretCode), host.polledCodes]).toEqual([0, false, []]);
    expect([host.issued, kept()]).toEqual([0, null]);
  });
});

describe('watching a run', () => {
  test.each(['failed', 'canceled'] as const)(
    'that %s exits with 9, and prints how to undo it',
    async (state) => {
      const failure =
        state === 'failed' ? ({ code: 'build_failed', detail: 'npm ended with 1' } as const) : null;
      looks = [runAt(state, 5, { failure, undo: ['svc apps delete hello --execute'] })];
      const ran = await watch(['--json']);
      expect([ran.exit, JSON.parse(ran.out).state]).toEqual([9, state]);
      expect(JSON.parse(ran.err.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
        code: failure?.code ?? 'canceled',
        status: 0,
        next: { why: expect.stringContaining('  svc apps delete hello --execute') },
      });
      const output = (await watch([])).err;
      expect(output).toContain('  svc apps delete hello --execute\n');
      if (failure !== null) expect(output).toContain('at first_deploy: npm ended with 1 (build_failed)');
    },
  );

  test('that times out exits with 10, prints the run, and reports that it continues', async () => {
    looks = [runAt('running', 2)];
    const ran = await watch(['--watch-timeout', '1s', '--json']);
    expect([ran.exit, JSON.parse(ran.out).state]).toEqual([10, 'running']);
    expect(JSON.parse(ran.err.trimEnd().split('\n').at(-1) ?? '').code).toBe('wait_timeout');
    expect(ran.err).toContain('has not ended after 1s; it continues');
    expect(ran.err).toContain(`svc apps bootstrap-status ${id} --watch`);
  });

  test('exits with 130 at Ctrl-C, and reports that the run continues', async () => {
    looks = [runAt('running', 2)];
    const ran = await watch([], { interrupt: interruptWhen(({ err }) => err.includes(bootstrapSteps[2])) });
    expect(ran.exit).toBe(130);
    expect(ran.err).toContain('The run continues on the server.');
    expect(ran.err).toContain(`svc apps bootstrap-cancel ${id} --execute`);
  });

  test('tolerates a short outage of the server', async () => {
    looks = [
      runAt('running', 2),
      new Response('<html>502</html>', { status: 502 }),
      problem('unavailable'),
      runAt('done'),
    ];
    expect((await watch()).exit).toBe(0);
  });

  test('that does not exist fails at once', async () => {
    looks = [problem('not_found')];
    expect((await watch()).exit).toBe(5);
  });

  test('on a terminal redraws the steps in place', async () => {
    looks = [runAt('running', 2), runAt('running', 2), runAt('done')];
    const ran = await watch([], { terminal: true, columns: 30, env: { NO_COLOR: '1' } });
    const drawn = ran.err.split('\u001b[6A');
    // Unchanged lines are not drawn again.
    expect([ran.exit, drawn.length]).toEqual([0, 2]);
    expect(drawn[0]).toContain('✓ reserve_app');
    expect(drawn[0]).toContain('… create_repo');
    expect(drawn[0]).toContain('· connect');
    expect(drawn.at(-1)).toContain('✓ first_deploy');
    for (const line of ran.err.split('\n')) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(30);
  });

  test.each([
    [['--quiet'], {}],
    [[], { TERM: 'dumb' }],
  ] as const)('with %j %j moves no cursor', async (flags, env) => {
    const ran = await watch([...flags], { terminal: true, env });
    expect([ran.exit, ran.err.includes('\u001b'), ran.err.includes('connect: done')]).toEqual([
      0,
      false,
      flags.length === 0,
    ]);
  });

  test('happens only with --watch', async () => {
    looks = [runAt('failed', 3)];
    const ran = await run(['bootstrap-status', id]);
    expect([ran.exit, ran.err]).toEqual([0, '']);
  });
});

describe('svc apps fork', () => {
  test('looks up the slug in the active tenant, whatever --tenant is', async () => {
    const line = ['fork', 'pet-shop', '--slug', 'mine', '--tenant', 'other', '--execute', '--json'];
    const ran = await run(line);
    expect(ran.exit).toBe(0);
    const asked = server.seen.find(({ path }) => path.endsWith('/tenants/demo/apps/pet-shop'));
    const started = server.seen.find(isStart);
    expect([asked?.method, started?.path]).toEqual(['GET', '/api/v1/tenants/other/forks']);
    expect(JSON.parse(started?.body ?? '').source).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('names the new app after its slug by default', async () => {
    const ran = await run(['fork', 'pet-shop', '--slug', 'mine', '--repo-public', '--execute', '--json']);
    expect(ran.exit).toBe(0);
    expect(JSON.parse(server.seen.find(isStart)?.body ?? '')).toEqual({
      source: 'pet-shop',
      slug: 'mine',
      name: 'mine',
      repo_private: false,
    });
  });

  test('without a linked account stores the code and the run, and exits with 11', async () => {
    needsApproval = true;
    const ran = await run(['fork', 'pet-shop', '--slug', 'mine', '--execute', '--json']);
    expect([ran.exit, JSON.parse(ran.out).state, kept().run_id]).toEqual([11, 'awaiting_approval', id]);
  });
});
