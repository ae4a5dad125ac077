import { beforeEach, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { problem, type Seen } from '../../testing/answers.ts';
import { type FakeGitHost, issueCodes, secretCode } from '../../testing/fake-git-host.ts';
import { useFakeServer } from '../../testing/fake-server.ts';
import { newFolder, type RunOptions } from '../../testing/run-svc.ts';

const server = useFakeServer();
let dir: string;
let host: FakeGitHost;
let isInstalled: boolean;
beforeEach(() => {
  dir = join(newFolder(), 'config');
  host = issueCodes(server);
  isInstalled = true;
  host.also = (seen) => {
    if (!isConnect(seen)) return undefined;
    if (!host.isLinked) return problem('git_account_required');
    return isInstalled ? undefined : problem('installation_missing');
  };
});

const isConnect = ({ method, path }: Seen) => method === 'POST' && path.endsWith('/apps/pet-shop/git');
const isBegin = ({ path }: Seen) => path.endsWith('/git/begin');
const connect = (flags: string[], options: RunOptions = {}) =>
  server.svc(['apps', 'git', 'connect', '--app', 'pet-shop', '--repo', 'acme/shop', ...flags], {
    ...options,
    env: { SVC_CONFIG_DIR: dir, ...options.env },
  });
const update = (flags: string[]) =>
  server.svc(['apps', 'git', 'update', '--app', 'pet-shop', '--branch', 'main', ...flags], {
    env: { SVC_CONFIG_DIR: dir },
  });
const complete = (flags: string[]) =>
  server.svc(['git-host', 'complete', '--state', 'a-state', ...flags], {
    env: { SVC_CONFIG_DIR: dir },
  });
const stored = () => {
  const folder = join(dir, 'git-host');
  const [file] = existsSync(folder) ? readdirSync(folder) : [];
  return file === undefined ? null : JSON.parse(readFileSync(join(folder, file), 'utf8'));
};

describe('svc apps git connect', () => {
  test('connects at once if the account is linked and the git host app is installed', async () => {
    host.isLinked = true;
    const ran = await connect(['--execute', '--json', '--branch', 'release', '--installation-id', '42']);
    expect([ran.exit, ran.err, host.issued]).toEqual([0, '', 0]);
    expect(JSON.parse(server.seen.find(isConnect)?.body ?? '')).toEqual({
      repo: 'acme/shop',
      branch: 'release',
      installation_id: 42,
    });
  });

  test('without an account shows a code and exits with 11; the same line with --resume-last continues', async () => {
    const began = await connect(['--execute', '--json']);
    expect([began.exit, JSON.parse(began.out).status]).toEqual([11, 'pending']);
    expect(began.err).toContain('enter the code WDJB-MJHT');
    expect(began.err).toContain(
      'svc apps git connect --app pet-shop --repo acme/shop --json --resume-last --wait-approval 10m --execute',
    );
    expect(stored()).toMatchObject({ purpose: 'connect', device_code: secretCode });
    host.polls = ['pending', 'linked'];
    const ran = await connect(['--execute', '--json', '--resume-last', '--wait-approval', '1m']);
    expect([ran.exit, JSON.parse(ran.out).repo, stored()]).toEqual([0, 'text', null]);
  });

  test('that polls once before the approval connects nothing', async () => {
    const ran = await connect(['--execute', '--device-code', 'mine'], {});
    expect(ran.exit).toBe(0);
    host.polls = ['pending'];
    server.seen = [];
    expect((await connect(['--execute', '--device-code', 'other'])).exit).toBe(11);
    expect(server.seen.some(isConnect)).toBe(false);
  });

  test('on a terminal waits for the approval, then connects', async () => {
    host.polls = ['pending', 'linked'];
    const ran = await connect(['--execute'], { terminal: true });
    expect([ran.exit, server.seen.filter(isConnect).length, stored()]).toEqual([0, 2, null]);
  });

  test.each(['--direct', '--no-browser'])(
    'with %s begins nothing that a person would have to finish',
    async (flag) => {
      const noAccount = await connect(['--execute', flag]);
      expect([noAccount.exit, noAccount.err.includes('(git_account_required)')]).toEqual([11, true]);
      host.isLinked = true;
      isInstalled = false;
      const none = await connect(['--execute', flag], { terminal: true });
      expect([none.exit, none.err.includes('(installation_missing)')]).toEqual([11, true]);
      expect([host.issued, server.seen.some(isBegin), stored()]).toEqual([0, false, null]);
      isInstalled = true;
      const env = { SVC_GIT_HOST_DEVICE_CODE: 'left over' };
      expect([(await connect(['--execute', flag], { env })).exit, host.polledCodes]).toEqual([0, []]);
    },
  );

  test('without an installation shows the installation URL, and how to continue', async () => {
    host.isLinked = true;
    isInstalled = false;
    const begun = {
      state: 'a-state',
      install_url: 'https://git.example/install',
      expires_at: '2031-05-01T12:00:00Z',
    };
    const before = host.also;
    host.also = (seen) => (isBegin(seen) ? Response.json(begun, { status: 201 }) : before?.(seen));
    const ran = await connect(['--execute', '--json']);
    expect([ran.exit, JSON.parse(ran.out)]).toEqual([11, begun]);
    expect(ran.err).toContain('Open https://git.example/install and install the git host app for acme');
    expect(ran.err).toEndWith('svc git-host complete --state a-state\n');
    host.also = (seen) =>
      isBegin(seen)
        ? Response.json({ ...begun, install_url: 'javascript:1' }, { status: 201 })
        : before?.(seen);
    const odd = await connect(['--execute']);
    expect([odd.exit, odd.err.includes('javascript')]).toEqual([11, false]);
  });

  test('as a preview reports that an approval comes first, unless --direct is given', async () => {
    const ran = await connect([]);
    expect([ran.exit, ran.out.includes('--execute')]).toEqual([0, true]);
    expect(ran.err).toContain('Your git host account is not linked');
    const json = await connect(['--json']);
    expect([json.exit, JSON.parse(json.out).dry_run]).toEqual([0, true]);
    const direct = await connect(['--direct']);
    expect([direct.exit, direct.err.includes('(git_account_required)')]).toEqual([11, true]);
    const codes = await connect(['--device-code', secretCode]);
    expect([codes.exit, (codes.out + codes.err).includes(secretCode)]).toEqual([0, false]);
    for (const { path, query } of server.seen.filter(({ method }) => method === 'POST'))
      expect([path, query.get('dry_run')]).toEqual([path, 'true']);
    expect([host.polledCodes, stored()]).toEqual([[], null]);
  });

  test('that changes nothing reports that', async () => {
    host.isLinked = true;
    let answer: object = { repo: 'acme/shop' };
    const before = host.also;
    host.also = (seen) => (isConnect(seen) ? Response.json(answer, { status: 201 }) : before?.(seen));
    const first = await connect(['--execute']);
    expect([first.exit, first.err]).toEqual([0, '']);
    answer = { ...answer, changed: false };
    const again = await connect(['--execute']);
    expect([again.exit, again.err]).toEqual([
      0,
      'The repository was already connected like this. Nothing has changed.\n',
    ]);
  });

  test('as a preview starts nothing, and does not print a code', async () => {
    host.isLinked = true;
    for (const code of [['--device-code', secretCode], [`--device-code=${secretCode}`]]) {
      const ran = await connect(code);
      expect([ran.exit, ran.out.includes('--device-code'), (ran.out + ran.err).includes(secretCode)]).toEqual(
        [0, true, false],
      );
    }
    expect([host.issued, host.polledCodes, stored()]).toEqual([0, [], null]);
  });
});

test('svc apps git update that changes nothing reports that', async () => {
  host.also = ({ method }) =>
    method === 'PATCH' ? Response.json({ repo: 'acme/shop', branch: 'main', changed: false }) : undefined;
  const ran = await update(['--execute']);
  expect([ran.exit, ran.err]).toEqual([
    0,
    'The repository was already connected like this. Nothing has changed.\n',
  ]);
  const json = await update(['--execute', '--json']);
  expect([JSON.parse(json.out).changed, json.err]).toEqual([false, '']);
});

describe('svc git-host complete', () => {
  test('executes at once: there is no preview', async () => {
    for (const flags of [[], ['--execute']]) {
      server.seen = [];
      const ran = await complete(['--repo', 'acme/shop', '--installation-id', '42', '--json', ...flags]);
      expect([ran.exit, JSON.parse(ran.out).repo]).toEqual([0, 'text']);
      const sent = server.seen.filter(({ method }) => method === 'POST');
      expect(sent.map(({ path, query, body }) => [path, query.toString(), JSON.parse(body)])).toEqual([
        [
          '/api/v1/tenants/demo/git-host/complete',
          '',
          { state: 'a-state', repo: 'acme/shop', installation_id: 42 },
        ],
      ]);
    }
  });

  test.each(['--dry-run', '--plan=x'])('rejects %s, because there is no preview', async (flag) => {
    const ran = await complete([flag]);
    expect([ran.exit, server.seen]).toEqual([2, []]);
  });
});
