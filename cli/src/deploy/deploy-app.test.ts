import { beforeEach, describe, expect, test } from 'bun:test';
import { patientMs } from '../../../scripts/patience.ts';
import { problem } from '../../testing/answers.ts';
import { useFakeServer } from '../../testing/fake-server.ts';
import { folderWith, interruptWhen, type RunOptions } from '../../testing/run-svc.ts';

const server = useFakeServer();
const id = '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c';
interface Faked {
  /** The final state of the deployment. */
  ended: Record<string, unknown>;
  pages: ({ texts: string[]; ended?: boolean } | Response | 'silent')[];
  puts: (Response | null)[];
}
let faked: Faked;

beforeEach(() => {
  faked = { ended: { state: 'live' }, pages: [{ texts: ['one', 'two'], ended: true }], puts: [] };
  server.intercept = async (request, seen) => {
    if (seen.path.startsWith('/sources/')) return faked.puts.shift() ?? undefined;
    if (seen.method === 'GET' && seen.path.endsWith('/logs')) return logPage(request);
    if (seen.method === 'GET' && seen.path.endsWith(`/deployments/${id}`))
      return Response.json(record(faked.ended));
    return undefined;
  };
});

function record(more: Record<string, unknown>) {
  return { id, seq: 4, kind: 'deploy', failure: null, release_id: null, ended_at: null, ...more };
}

async function logPage(request: Request): Promise<Response> {
  const page = faked.pages.shift() ?? { texts: [], ended: true };
  if (page instanceof Response) return page;
  if (page === 'silent') {
    await new Promise((resolve) => request.signal.addEventListener('abort', resolve));
    return new Response();
  }
  const items = page.texts.map((text) => ({ time: '2031-05-01T12:00:00.000Z', stream: 'stdout', text }));
  return Response.json({ items, next_cursor: 'next', ended: page.ended ?? false });
}

function svc(args: string[], options: RunOptions = {}) {
  return server.svc(args, options);
}
const deploy = (...args: string[]) => svc(['deploy', '--app', 'shop', '--execute', ...args]);
const requests = () => server.seen.map(({ method, path }) => `${method} ${path.split('/').at(-1)}`);

describe('svc deploy', () => {
  test('previews without sending anything', async () => {
    const ran = await svc(['deploy', '--app', 'shop', '--from-dir', folderWith({ a: 'a' })]);
    expect([ran.exit, requests()]).toEqual([0, ['POST deployments']]);
    expect(server.seen[0]?.query.get('dry_run')).toBe('true');
    expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual({ upload_pending: true });
    expect(ran.err).toContain('1 file, ');
  });

  test('sends the token in SVC_API_KEY, needs a tenant with it, and explains a refusal', async () => {
    const key = { SVC_TOKEN: undefined, SVC_API_KEY: 'svcpat_good' };
    const line = ['deploy', '--app', 'shop', '--execute', '--detach'];
    expect((await svc(line, { env: key })).exit).toBe(0);
    expect(server.seen.map(({ headers }) => headers.get('x-api-key'))).toEqual(['svcpat_good']);
    expect((await svc(line, { env: { ...key, SVC_TENANT: undefined } })).err).toContain('SVC_TENANT');
    server.intercept = () => problem('forbidden');
    expect((await svc(line, { env: key })).err).toContain('svc pats create --actions read,write,code,deploy');
  });

  test('uploads nothing if the deployment would be rejected or the plan has changed', async () => {
    const folder = folderWith({ a: 'a' });
    const stale = await deploy('--from-dir', folder, '--plan', 'another');
    expect([stale.exit, requests()]).toEqual([15, ['POST deployments']]);
    const usual = server.intercept;
    server.intercept = async (request, seen) =>
      seen.query.has('dry_run') ? problem('app_suspended') : usual?.(request, seen);
    for (const ran of [
      await deploy('--from-dir', folder),
      await svc(['deploy', '--app', 'shop', '--from-dir', folder]),
    ])
      expect([ran.exit, ran.err.includes('1 file')]).toEqual([6, false]);
    expect(new Set(requests())).toEqual(new Set(['POST deployments']));
  });

  test('uploads the archive again after a connection error, and never with the login', async () => {
    faked.puts = [problem('unavailable'), new Response('<html>', { status: 502 })];
    const ran = await deploy('--from-dir', folderWith({ a: 'a' }), '--json');
    expect([ran.exit, JSON.parse(ran.out).state]).toEqual([0, 'live']);
    const puts = server.seen.filter(({ method }) => method === 'PUT');
    expect(puts.length).toBe(3);
    expect(new Set(puts.map(({ headers }) => headers.get('x-svc-sha256'))).size).toBe(1);
    expect(puts.some(({ headers }) => headers.has('authorization'))).toBe(false);
    expect(requests().slice(-4)).toEqual(['POST deployments', `GET ${id}`, 'GET logs', `GET ${id}`]);
  });

  test('shows the position in the queue until the deployment starts', async () => {
    const usual = server.intercept;
    const positions = [3, 3, 1];
    server.intercept = async (request, seen) => {
      const isExecuted = seen.method === 'POST' && !seen.query.has('dry_run');
      if (isExecuted) return Response.json(record({ state: 'queued', queue_position: 4 }));
      const position = seen.path.endsWith(`/deployments/${id}`) ? positions.shift() : undefined;
      if (position === undefined) return usual?.(request, seen);
      return Response.json(record({ state: 'queued', queue_position: position }));
    };
    const ran = await deploy();
    expect(ran.exit).toBe(0);
    expect(ran.err.match(/Queued: position \d\./g)).toEqual(['Queued: position 3.', 'Queued: position 1.']);
    expect(ran.err.indexOf('position 1')).toBeLessThan(ran.err.indexOf('one\n'));
  });

  test('does not repeat an upload that was rejected', async () => {
    faked.puts = [problem('unsupported_media_type')];
    const ran = await deploy('--from-dir', folderWith({ a: 'a' }));
    expect([ran.exit, requests()]).toEqual([
      7,
      ['POST deployments', 'POST sources', expect.stringMatching('PUT')],
    ]);
    expect(server.seen[0]?.query.get('dry_run')).toBe('true');
  });

  test.each([
    [{ state: 'live' }, 0, ''],
    [{ state: 'superseded' }, 0, 'newer'],
    [{ state: 'built', ended_at: '2031-05-01T12:00:00.000Z', release_id: id }, 11, 'waits for a review'],
  ])('reports the result: %j exits with %i', async (ended, exit, message) => {
    faked.ended = ended;
    const ran = await deploy('--json');
    expect([ran.exit, JSON.parse(ran.out).state]).toEqual([exit, ended.state]);
    expect(ran.err).toContain(message);
    expect(ran.err).toContain('one\n');
  });

  const failedOf = (code: string, step: string) => ({
    state: 'failed',
    failure: { code, step, detail: 'It ended with 3' },
  });
  test.each([
    [failedOf('build_failed', 'build'), 'build_failed', `svc deployments logs ${id} --app shop`],
    [
      failedOf('health_check_failed', 'health'),
      'health_check_failed',
      `svc logs --app shop --deployment ${id}`,
    ],
    [failedOf('source_unavailable', 'fetch'), 'source_unavailable', 'svc apps git status --app shop'],
    [{ state: 'canceled' }, 'canceled', `svc deployments get ${id} --app shop`],
    [{ state: 'skipped' }, 'skipped', 'svc deployments list --app shop'],
  ])('a deployment that did not succeed is printed, and is an error: %j', async (ended, code, next) => {
    faked.ended = ended;
    const ran = await deploy('--json');
    expect([ran.exit, JSON.parse(ran.out).state]).toEqual([9, ended.state]);
    const lines = ran.err.trimEnd().split('\n');
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
      type: 'about:blank',
      status: 0,
      code,
      request_id: '',
      title: expect.any(String),
      detail: expect.stringContaining('#4'),
      next: { why: expect.stringContaining(next) },
    });
    expect(lines[0]).toContain('one');
    const deployed = await deploy();
    expect([deployed.exit, deployed.err]).toEqual([9, expect.stringContaining(`(${code})\nNext: `)]);
    expect(deployed.err).toContain(next);
  });

  test('reports that the previous deployment is still live only if there was one', async () => {
    faked.ended = failedOf('build_failed', 'build');
    for (const [items, isReported] of [
      [[], false],
      [[record({ id: crypto.randomUUID(), state: 'live' })], true],
    ] as const) {
      const usual = server.intercept;
      server.intercept = (request, seen) =>
        seen.query.get('state') === 'live'
          ? Response.json({ items, page: 1, per_page: 1, total: items.length })
          : usual?.(request, seen);
      expect((await deploy()).err.includes('The previous deployment is still live.')).toBe(isReported);
      server.intercept = usual;
    }
  });

  test('reports the upload before the result, with --json too', async () => {
    const ran = await deploy('--from-dir', folderWith({ a: 'a' }), '--json');
    expect(ran.err).toMatch(/^Uploading 1 file.*one\n/s);
  });

  test('shows the last lines of a failed build with --quiet', async () => {
    faked.ended = { state: 'failed', failure: { code: 'build_failed', step: 'build', detail: 'no' } };
    faked.pages = [{ texts: Array.from({ length: 30 }, (_, at) => `line ${at + 1}`), ended: true }];
    const ran = await deploy('--quiet');
    expect([ran.exit, ran.err.includes('line 10\n'), ran.err.includes('line 11\n')]).toEqual([
      9,
      false,
      true,
    ]);
    faked.ended = { state: 'live' };
    expect((await deploy('--quiet')).err).toBe('');
  });

  test('continues the log after a short outage of the server', async () => {
    faked.pages = [{ texts: ['one'] }, problem('unavailable'), { texts: ['two'], ended: true }];
    const ran = await deploy();
    expect([ran.exit, ran.err]).toEqual([0, expect.stringMatching(/one\n.*two\n/s)]);
    faked.pages = [problem('forbidden')];
    expect((await deploy()).exit).toBe(4);
  });

  test('exits with 10 at the timeout, and prints the deployment', async () => {
    faked.pages = [{ texts: ['one'] }, 'silent'];
    const ran = await deploy('--json', '--timeout', `${patientMs(300)}ms`);
    expect([ran.exit, JSON.parse(ran.out).id]).toEqual([10, id]);
    expect(JSON.parse(ran.err.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
      code: 'wait_timeout',
      detail: expect.stringContaining('continues'),
      next: { argv: `svc deployments logs ${id} --app shop --follow`.split(' ') },
    });
  });

  test('exits with 130 at Ctrl-C, and reports that the deployment continues', async () => {
    faked.pages = [{ texts: ['one'] }, 'silent'];
    let stop = () => {};
    const usual = server.intercept;
    server.intercept = async (request, seen) => {
      if (seen.query.has('cursor')) stop();
      return usual?.(request, seen);
    };
    const ran = await svc(['deploy', '--app', 'shop', '--execute'], {
      interrupt: (given) => {
        stop = given;
      },
    });
    expect([ran.exit, ran.err]).toEqual([130, expect.stringContaining('continues on the server')]);
    expect(ran.err).toContain('deployments cancel');
  });

  test('does not wait with --detach, and sends --ref', async () => {
    const ran = await deploy('--detach', '--ref', 'v1');
    expect([ran.exit, requests()]).toEqual([0, ['POST deployments']]);
    expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual({ ref: 'v1' });
    expect((await deploy('--ref', 'v1', '--from-dir', '.')).exit).toBe(2);
    expect((await deploy('--from-dir', folderWith({ '.env': 'x' }))).exit).toBe(7);
    expect((await deploy('--from-dir', 'nowhere')).exit).toBe(2);
  });
});

describe('svc previews redeploy', () => {
  const redeploy = (...args: string[]) =>
    svc(['previews', 'redeploy', 'feature', '--app', 'shop', '--execute', ...args]);

  test('shows the build log and prints the preview once its deployment is live', async () => {
    const ran = await redeploy('--json');
    expect([ran.exit, ran.err]).toEqual([0, expect.stringMatching(/one\n.*two\n/s)]);
    expect(JSON.parse(ran.out)).toMatchObject({ deployment: { id, state: 'live' }, live: true });
    const followed = server.seen.find(({ path }) => path.endsWith(`/deployments/${id}/logs`));
    expect(followed?.path).toContain(`/apps/${id}/`);
  });

  test('exits with 9 if the build fails, and does not wait with --detach', async () => {
    const failure = { code: 'build_failed', step: 'build', detail: 'npm run build ended with exit code 1' };
    faked.ended = { state: 'failed', failure };
    const ran = await redeploy();
    expect([ran.exit, ran.err]).toEqual([9, expect.stringContaining('exit code 1')]);
    server.seen = [];
    expect([(await redeploy('--detach')).exit, requests()]).toEqual([0, ['POST redeploy']]);
  });
});

describe('svc logs --follow', () => {
  test('prints lines as they arrive, as JSON Lines, until the log ends', async () => {
    faked.pages = [{ texts: ['one'] }, { texts: [] }, { texts: ['two'], ended: true }];
    const ran = await svc(['logs', '--app', 'shop', '--follow', '--json']);
    const lines = ran.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).text);
    expect([ran.exit, lines]).toEqual([0, ['one', 'two']]);
    expect(server.seen[1]?.query.get('wait_seconds')).toBe('20');
  });

  test('ends silently at Ctrl-C', async () => {
    faked.pages = [{ texts: ['one'] }, 'silent'];
    const interrupt = interruptWhen(({ out }) => out.includes('one'));
    const ran = await svc(['logs', '--app', 'shop', '--follow'], { interrupt });
    expect([ran.exit, ran.err, ran.out]).toEqual([130, '', expect.stringContaining('one')]);
  });

  test('removes control characters, and shows colors on a terminal only', async () => {
    const texts = ['\u001b[31mred\u001b[0m', 'bell\u0007', '\u001b[2Jgone'];
    faked.pages = [{ texts, ended: true }];
    const plain = await svc(['logs', '--app', 'shop']);
    expect(plain.out).toContain('Z red\n');
    faked.pages = [{ texts, ended: true }];
    const shown = await svc(['logs', '--app', 'shop'], { terminal: true });
    expect(shown.out).toContain('\u001b[31mred');
    for (const { out } of [plain, shown])
      expect([out.includes('\u0007'), out.includes('\u001b[2J')]).toEqual([false, false]);
  });
});
