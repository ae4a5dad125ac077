import { beforeEach, describe, expect, test } from 'bun:test';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { problem } from '../../testing/answers.ts';
import { acceptReleases, type FakeRelease } from '../../testing/fake-releases.ts';
import { useFakeServer } from '../../testing/fake-server.ts';
import { folderWith, newFolder, type RunOptions } from '../../testing/run-svc.ts';

const server = useFakeServer();
let release: FakeRelease;
beforeEach(() => {
  release = acceptReleases(server);
});

const sumOf = (text: string) => new Bun.CryptoHasher('sha256').update(text).digest('hex');

function deploy(folder: string | null, flags: string[] = [], options: RunOptions = {}) {
  const from = folder === null ? [] : ['--app', 'shop', '--from-dir', folder];
  return server.svc(['apps', 'static', 'deploy', ...from, ...flags], options);
}

/** The answer for an identical release: its plan is empty. */
function withoutChanges(): void {
  const usual = server.intercept;
  server.intercept = async (request, seen) => {
    const answer = await usual?.(request, seen);
    if (answer === undefined || seen.query.get('dry_run') !== 'true') return answer;
    const { plan } = (await answer.json()) as { plan: object };
    return Response.json({ dry_run: true, plan: { ...plan, changes: [] } });
  };
}

const requests = () => server.seen.map(({ method, path }) => `${method} ${path.split('/').at(-1)}`);

describe('svc apps static deploy', () => {
  test('previews with the whole list of files, and uploads none of them', async () => {
    const ran = await deploy(folderWith({ 'index.html': '<p>', 'a/b.css': 'b' }));
    expect([ran.exit, ran.err]).toEqual([0, '']);
    expect(ran.out).toContain('--execute');
    expect(requests()).toEqual(['POST releases']);
    const body = JSON.parse(server.seen[0]?.body ?? '');
    expect(body).toEqual({
      files: [
        { path: 'a/b.css', sha256: sumOf('b'), size: 1 },
        { path: 'index.html', sha256: sumOf('<p>'), size: 3 },
      ],
      config: {},
      on_finalize: 'deploy',
    });
  });

  test('previews an unfinished release as one to resume', async () => {
    withoutChanges();
    const ran = await deploy(folderWith({ a: 'a' }));
    expect([ran.exit, ran.out]).toEqual([0, expect.stringMatching(/unfinished.*--execute/s)]);
  });

  test('uploads each missing content once, finalizes, and reports the upload', async () => {
    const folder = folderWith({ 'a.txt': 'same', 'b.txt': 'same', 'c.txt': 'other', 'empty.txt': '' });
    release.stored.add(sumOf('other'));
    const ran = await deploy(folder, ['--release-version', 'v1', '--execute', '--json', '--plan', 'f1f2f3']);
    expect([ran.exit, ran.err]).toEqual([0, '']);
    expect(JSON.parse(ran.out)).toMatchObject({ number: 4, version: 'v1', uploaded: { files: 2, bytes: 4 } });
    expect(release.sent.toSorted()).toEqual([sumOf('same'), sumOf('')].toSorted());
    const [create, ...rest] = server.seen;
    expect([create?.headers.get('if-plan'), rest.at(-1)?.path]).toEqual([
      'f1f2f3',
      expect.stringMatching(/finalize$/),
    ]);
    for (const { method, headers } of server.seen)
      expect([method, headers.has('idempotency-key'), headers.has('authorization')]).toEqual(
        method === 'POST' ? ['POST', true, true] : ['PUT', false, false],
      );
  });

  test('previews an active release as nothing to do', async () => {
    release.state = 'finalized';
    withoutChanges();
    const ran = await deploy(folderWith({ a: 'a' }));
    expect([ran.exit, ran.out]).toEqual([0, expect.stringMatching(/Release 4 .*nothing to do/is)]);
    expect(ran.out).not.toContain('--execute');
  });

  test.each([
    ['active', 0, 'http://shop.apps.localhost:4400/', ''],
    ['staged', 0, 'http://shop.apps.localhost:4400/', 'promote-request --release-id 4 --app shop'],
    [null, 11, 'not shown', 'site staging enable --app shop'],
  ] as const)(
    'prints the URL of a release that is %s, and the next step, and exits with %i',
    async (pointer, exit, shown, next) => {
      release.pointer = pointer;
      release.shown = { active: 3 };
      const ran = await deploy(folderWith({ 'a.txt': 'a' }), ['--execute']);
      expect([ran.exit, ran.out]).toEqual([exit, expect.stringContaining(shown)]);
      if (next === '') expect(ran.err).toBe('');
      else expect(ran.err).toContain(next);
    },
  );

  test.each([
    [{ active: 5 }, 'releases activate --release-id 4 --app shop'],
    [{ active: 2, staged: 5 }, 'releases stage --release-id 4 --app shop'],
  ])('succeeds with a note if a newer release is in place: %j', async (shown, next) => {
    Object.assign(release, { pointer: null, shown });
    const ran = await deploy(folderWith({ a: 'a' }), ['--execute']);
    expect([ran.exit, ran.err]).toEqual([0, expect.stringContaining('Release 5 is newer')]);
    expect(ran.err).toContain(next);
  });

  test.each([
    ['http://shop.apps.localhost:4400/', 'responds at http://shop.apps.localhost:4400/ instead of the site'],
    [null, 'svc apps update shop --subdomain'],
  ])('explains why nobody sees the release if the URL of the app is %p', async (url, why) => {
    release.url = null;
    const usual = server.intercept;
    server.intercept = (request, seen) =>
      seen.path.endsWith('/apps/shop') ? Response.json({ url }) : usual?.(request, seen);
    const ran = await deploy(folderWith({ a: 'a' }), ['--execute']);
    expect([ran.exit, ran.out, ran.err]).toEqual([
      0,
      expect.stringMatching(/shown as +active, without a host/),
      expect.stringContaining(why),
    ]);
  });

  test('reports that an identical release was already in place', async () => {
    release.changed = false;
    const ran = await deploy(folderWith({ a: 'a' }), ['--execute']);
    expect([ran.exit, ran.err]).toEqual([0, expect.stringContaining('Release 4 is identical')]);
  });

  test('reads static.dir and site from svc.yaml', async () => {
    const project = folderWith({
      'svc.yaml': 'name: Shop\nstatic:\n  dir: dist\nsite:\n  spa: true\n',
      'dist/index.html': '<p>',
      'src/deep/x': '',
    });
    const ran = await deploy(null, ['--execute'], { cwd: join(project, 'src/deep') });
    expect([ran.exit, release.draft?.config]).toEqual([0, { spa: true }]);
    expect(release.draft?.files.map(({ path }) => path)).toEqual(['index.html']);
    expect(server.seen[0]?.path).toContain('/apps/shop/');
  });

  test.each(['svc.yaml', 'svc.yml', 'svc.json'])(
    'takes %s of the folder before that, and sends it not',
    async (name) => {
      const text = name.endsWith('json') ? '{"clean_urls": false}' : 'site:\n  clean_urls: false\n';
      const project = folderWith({
        'svc.yaml': 'name: Shop\nsite:\n  spa: true\n',
        [`out/${name}`]: text,
        'out/a': '',
      });
      const ran = await deploy('out', ['--execute'], { cwd: project });
      expect([ran.exit, release.draft?.config]).toEqual([0, { clean_urls: false }]);
      expect(release.draft?.files.map(({ path }) => path)).toEqual(['a']);
    },
  );

  test('prefers the svc.yaml above the folder to that of the current folder, and names it', async () => {
    const outside = folderWith({
      'svc.yaml': 'name: Shop\nsite:\n  index: no.html\n',
      'proj/svc.yaml': 'app:\n  slug: shop\nsite:\n  spa: true\n',
      'proj/dist/a': '',
    });
    const ran = await deploy('proj/dist', ['--execute'], { cwd: outside });
    expect([ran.exit, release.draft?.config]).toEqual([0, { spa: true }]);
    expect(ran.err).toContain('Using the site configuration of proj/svc.yaml');
    const alone = folderWith({ a: '' });
    expect((await deploy(alone, ['--execute'], { cwd: join(outside, 'proj') })).exit).toBe(0);
    expect(release.draft?.config).toEqual({ spa: true });
  });

  test('ignores the svc.yaml of another app, and reports that', async () => {
    const yaml = 'app:\n  slug: text\nstatic:\n  dir: dist\nsite:\n  spa: true\n';
    const project = folderWith({ 'svc.yaml': yaml, 'dist/a': '' });
    const ran = await deploy('dist', ['--execute'], { cwd: project });
    expect([ran.exit, release.draft?.config]).toEqual([0, {}]);
    expect(ran.err).toContain('svc.yaml belongs to app text');
    const without = await deploy(null, ['--app', 'shop', '--execute'], { cwd: project });
    expect([without.exit, without.err]).toEqual([2, expect.stringMatching(/--from-dir.*app text/s)]);
    // The id alone cannot be compared with the slug; the server confirms that they match.
    const id = ['--app', '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c'];
    expect((await deploy(null, [...id, '--execute'], { cwd: project })).exit).toBe(0);
    expect(release.draft?.config).toEqual({ spa: true });
  });

  test('rejects what cannot be deployed before any request, by exit code', async () => {
    const project = folderWith({ 'svc.yaml': 'name: Shop\nsite:\n  sap: true\n', 'out/a': '', file: '' });
    const two = folderWith({ 'svc.yaml': 'name: a\n', 'svc.json': '{}', a: '' });
    const wrong = folderWith({ 'svc.json': '{\n  "redirects": [{ "from": "a", "to": "/" }]\n}', a: '' });
    const cases: [string | null, RunOptions, number, string][] = [
      [null, {}, 2, '--app'],
      [null, { cwd: folderWith({ 'svc.yaml': 'name: Shop\n' }) }, 2, 'static.dir'],
      [null, { cwd: folderWith({ 'svc.yaml': 'name: Shop\nstatic:\n  dir: ../x\n' }) }, 7, 'svc.yaml:3:8'],
      ['nowhere', {}, 2, 'nowhere'],
      [join(project, 'file'), {}, 2, 'not a folder'],
      [newFolder(), {}, 7, 'no file'],
      ['out', { cwd: project }, 7, 'svc.yaml:3:3: unknown key "sap"'],
      [two, {}, 2, 'both'],
      [wrong, {}, 7, 'svc.json:2:27: redirects.0.from'],
    ];
    for (const [folder, options, exit, message] of cases) {
      const ran = await deploy(folder, ['--execute'], options);
      expect([message, ran.exit, ran.err]).toEqual([message, exit, expect.stringContaining(message)]);
    }
    expect(server.seen).toEqual([]);
  });

  test('applies the rules in _redirects, _headers, netlify.toml and vercel.json, and names what it does not apply', async () => {
    const folder = folderWith({
      a: '',
      'b/_redirects': '/not /a-rule',
      _redirects: '/old /new\n/api/* https://api.example.com/:splat 200\n',
      _headers: '/*\n  X-Frame-Options: DENY\n',
      'netlify.toml': '[[redirects]]\nfrom = "/one"\nto = "/two"\nstatus = 302\n',
      'vercel.json': '{"cleanUrls": false}',
    });
    const ran = await deploy(folder, ['--json']);
    expect(JSON.parse(ran.out).warnings).toEqual([
      'Not applied: line 2 of _redirects: requests are not passed on to other hosts.',
    ]);
    const { files, config } = JSON.parse(server.seen[0]?.body ?? '');
    expect(files.map(({ path }: { path: string }) => path)).toEqual(['a', 'b/_redirects']);
    expect(config).toEqual({
      clean_urls: false,
      redirects: [
        { from: '/old', to: '/new', status: 301, force: false },
        { from: '/one', to: '/two', status: 302, force: false },
      ],
      headers: [{ path: '/*', headers: { 'X-Frame-Options': 'DENY' } }],
    });
  });

  test('names excluded files', async () => {
    const ran = await deploy(folderWith({ a: '', '.env': 'X=1' }));
    expect(ran.err).toContain('Excluded: .env.');
    const quiet = await deploy(folderWith({ a: '', '.env': 'X=1' }), ['--quiet']);
    expect([quiet.exit, quiet.err]).toEqual([0, '']);
  });

  test('shows a progress bar on a terminal only', async () => {
    const folder = folderWith(Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`f${at}`, `${at}`])));
    release.onUpload = async () => void (await Bun.sleep(60));
    const ran = await deploy(folder, ['--execute'], { terminal: true });
    expect(ran.err).toContain('Uploading [');
    expect(ran.err.endsWith('\r\u001b[K')).toBe(true);
    release.stored.clear();
    expect((await deploy(folder, ['--execute'])).err).toBe('');
    release.stored.clear();
    expect((await deploy(folder, ['--execute', '--json'], { terminal: true })).err).toBe('');
  });
});

describe('an upload', () => {
  test('is retried after a short outage of the server', async () => {
    release.onUpload = () => (release.sent.length === 1 ? problem('unavailable') : undefined);
    const ran = await deploy(folderWith({ a: 'a' }), ['--execute']);
    expect([ran.exit, release.sent.length]).toEqual([0, 2]);
  });

  test('is retried for as long as the server asks to wait', async () => {
    release.onUpload = () =>
      release.sent.length <= 12 ? problem('unavailable', {}, { 'retry-after': '0.01' }) : undefined;
    const ran = await deploy(folderWith({ a: 'a' }), ['--execute']);
    expect([ran.exit, release.sent.length]).toEqual([0, 13]);
  });

  test('limits the bytes in flight', async () => {
    const folder = newFolder();
    for (const name of ['a', 'b', 'c']) {
      writeFileSync(join(folder, name), name);
      truncateSync(join(folder, name), 24 * 1024 * 1024);
    }
    let [underway, most] = [0, 0];
    const two = Promise.withResolvers<void>();
    release.onUpload = async () => {
      underway += 1;
      most = Math.max(most, underway);
      if (underway === 2) two.resolve();
      await two.promise;
      await Bun.sleep(200);
      underway -= 1;
      return undefined;
    };
    const ran = await deploy(folder, ['--execute']);
    expect([ran.exit, release.stored.size, most]).toEqual([0, 3, 2]);
  });

  test('requests one new URL when the current one has expired, and continues', async () => {
    const files = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`f${at}`, `${at}`]));
    release.onUpload = (_sum, { path }) =>
      release.stored.size >= 10 && path.includes('/token-0/') ? problem('url_expired') : undefined;
    const ran = await deploy(folderWith(files), ['--execute', '--json']);
    expect([ran.exit, release.grants, release.stored.size]).toEqual([0, 1, 30]);
    expect(JSON.parse(ran.out).uploaded.files).toBe(30);
  });

  test('fails if a new URL is expired at once', async () => {
    release.onUpload = () => problem('url_expired');
    const ran = await deploy(folderWith({ a: 'a' }), ['--execute']);
    expect([ran.exit, release.grants]).toEqual([4, 1]);
  });

  test('uploads files again that have disappeared, once', async () => {
    let lost = 0;
    release.onFinalize = () => {
      if (lost < 1) release.stored.clear();
      lost += 1;
      return undefined;
    };
    expect((await deploy(folderWith({ a: 'a' }), ['--execute'])).exit).toBe(0);
    release.onFinalize = () => problem('release_incomplete');
    expect((await deploy(folderWith({ a: 'a' }), ['--execute'])).exit).toBe(6);
  });

  test('of a file that has changed since it was hashed fails with exit 7 and its name', async () => {
    const folder = folderWith({ 'a.txt': 'one', 'b.txt': 'two' });
    const usual = server.intercept;
    server.intercept = (request, seen) => {
      if (seen.path.endsWith('/releases')) writeFileSync(join(folder, 'b.txt'), 'owt');
      return usual?.(request, seen);
    };
    const ran = await deploy(folder, ['--execute', '--json']);
    expect([ran.exit, JSON.parse(ran.err).code]).toEqual([7, 'digest_mismatch']);
    expect(ran.err).toContain('b.txt');
    expect([requests().includes('POST finalize'), release.stored.has(sumOf('owt'))]).toEqual([false, false]);
    expect(readFileSync(join(folder, 'b.txt'), 'utf8')).toBe('owt');
  });

  test('that is interrupted exits 130, prints how to resume, and the same command uploads the rest', async () => {
    const files = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`f${at}`, `${at}`]));
    const folder = folderWith(files);
    let stop = () => {};
    release.onUpload = () => {
      if (release.stored.size < 5) return undefined;
      stop();
      return new Promise<undefined>(() => {});
    };
    const ran = await deploy(folder, ['--execute'], {
      interrupt: (fire) => {
        stop = fire;
      },
    });
    expect([ran.exit, ran.out]).toEqual([130, '']);
    expect(ran.err).toContain('same command again');
    expect(ran.err).toMatch(/\d+ of 20 files/);
    delete release.onUpload;
    const again = await deploy(folder, ['--execute', '--json']);
    expect([again.exit, release.stored.size]).toEqual([0, 20]);
    expect(JSON.parse(again.out).uploaded.files).toBeWithin(1, 16);
  });
});
