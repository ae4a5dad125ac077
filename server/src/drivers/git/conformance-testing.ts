import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { failureCode } from '../testing.ts';
import {
  type GitHost,
  type Installation,
  type RepoName,
  type Repository,
  RepositoryError,
  UserTokenError,
} from './git-host.ts';
import { gitText, pushFiles } from './testing/git-folder.ts';

export interface TestGitHost {
  host: GitHost;
  owner: string;
  member: { login: string; token: string };
  outsider: { login: string; token: string };
  approve(userCode: string): Promise<void>;
  deny(userCode: string): Promise<void>;
  expire(userCode: string): Promise<void>;
  remove(repo: RepoName): Promise<void>;
  wait(userCode: string): Promise<void>;
  another(): Promise<GitHost>;
  stop(): Promise<void>;
}

const unique = (name: string) => `${name}-${Bun.randomUUIDv7().replaceAll('-', '').slice(-12)}`;

export function gitHostConformance(name: string, makeWorld: () => Promise<TestGitHost>): void {
  describe(name, () => {
    let world: TestGitHost;
    let host: GitHost;
    let installation: Installation;
    beforeAll(async () => {
      world = await makeWorld();
      host = world.host;
      const found = await host.installationOfOwner(world.owner);
      if (!found) throw new Error('The app is not installed for the owner.');
      installation = found;
    });
    afterAll(() => world?.stop());

    const asMember = () => host.asUser(world.member.token);
    const asOutsider = () => host.asUser(world.outsider.token);
    const newRepo = (name = unique('repo')) =>
      host.asInstallation(installation.id).createRepository({
        owner: installation.account,
        name,
        isPrivate: true,
        description: 'Created by a test',
        userToken: world.member.token,
      });
    const urlWithLogin = async (repo: Repository) => {
      const credentials = await host.asInstallation(installation.id, repo).credentials();
      return Object.assign(new URL(host.remoteUrl(repo)), credentials).href;
    };
    const listRemote = (url: string) => gitText('/', ['ls-remote', url]);

    test('check succeeds', async () => {
      expect(await host.check()).toEqual({ ok: true, detail: expect.stringContaining(host.webUrl) });
    });

    describe('the device flow', () => {
      test("has a URL of the host, waits for approval and returns the user's tokens", async () => {
        const grant = await host.beginDeviceFlow();
        expect(grant.verificationUri).toStartWith(`${host.webUrl}/`);
        expect(grant.userCode).toMatch(/^[A-Z0-9]{4}-[A-Z0-9]{4}$/);
        expect([grant.intervalSeconds, grant.expiresInSeconds > 60]).toEqual([5, true]);
        expect(await host.pollDeviceFlow(grant.deviceCode)).toEqual({ status: 'pending' });
        await world.wait(grant.userCode);
        await world.approve(grant.userCode);
        const polled = await host.pollDeviceFlow(grant.deviceCode);
        if (polled.status !== 'approved') throw new Error(`It is ${polled.status}.`);
        const account = await host.asUser(polled.tokens.token).account();
        expect(account).toEqual({ id: expect.any(Number), login: world.member.login, kind: 'user' });
        expect(polled.tokens.expiresAt?.getTime()).toBeGreaterThan(Date.now());
        expect(await host.pollDeviceFlow(grant.deviceCode)).toEqual({ status: 'unknown' });
      });

      test('increases the interval when polled too soon', async () => {
        const { deviceCode } = await host.beginDeviceFlow();
        expect(await host.pollDeviceFlow(deviceCode)).toEqual({ status: 'pending' });
        expect(await host.pollDeviceFlow(deviceCode)).toEqual({ status: 'slow_down', intervalSeconds: 10 });
        expect(await host.pollDeviceFlow(deviceCode)).toEqual({ status: 'slow_down', intervalSeconds: 15 });
      });

      test('reports denied, expired and unknown codes', async () => {
        const denied = await host.beginDeviceFlow();
        await world.deny(denied.userCode);
        expect(await host.pollDeviceFlow(denied.deviceCode)).toEqual({ status: 'denied' });
        const late = await host.beginDeviceFlow();
        await world.expire(late.userCode);
        expect(await host.pollDeviceFlow(late.deviceCode)).toEqual({ status: 'expired' });
        expect(await host.pollDeviceFlow('0'.repeat(40))).toEqual({ status: 'unknown' });
      });

      test('a refresh token can be used once', async () => {
        const grant = await host.beginDeviceFlow();
        await world.approve(grant.userCode);
        const polled = await host.pollDeviceFlow(grant.deviceCode);
        const refreshToken = (polled.status === 'approved' && polled.tokens.refreshToken) || '';
        const renewed = await host.refresh(refreshToken);
        expect((await host.asUser(renewed?.token ?? '').account()).login).toBe(world.member.login);
        expect(renewed?.refreshToken).not.toBe(refreshToken);
        expect(await host.refresh(refreshToken)).toBeNull();
        expect(await host.refresh('none')).toBeNull();
      });
    });

    test('an invalid token is a UserTokenError for every method', async () => {
      const user = host.asUser('ghu_000000000000000000000000000000000000');
      for (const ask of [
        () => user.account(),
        () => user.installations(),
        () => user.repository({ owner: world.owner, name: 'any' }),
        () => user.repositories(installation.id, { page: 1, perPage: 10 }),
      ])
        expect(await ask().catch((error: unknown) => error)).toBeInstanceOf(UserTokenError);
    });

    describe('installations', () => {
      test('are found by owner, repository and ID, or null', async () => {
        const repo = await newRepo();
        expect(installation.account).toMatchObject({ login: world.owner, kind: 'organization' });
        expect(await host.installationOfRepo(repo)).toEqual(installation);
        expect(await host.installation(installation.id)).toEqual(installation);
        expect(await host.installation(999_999_999)).toBeNull();
        expect(await host.installationOfOwner(unique('nobody'))).toBeNull();
        expect(await host.installationOfRepo({ owner: world.owner, name: unique('none') })).toBeNull();
        expect(await host.installationOfRepo({ owner: '..', name: '..' })).toBeNull();
      });

      test('a user sees only accessible installations and their repositories', async () => {
        const repo = await newRepo();
        expect(await asMember().installations()).toContainEqual(installation);
        const own = await asOutsider().installations();
        expect(own.map(({ id }) => id)).not.toContain(installation.id);
        const all = await asMember().repositories(installation.id, { page: 1, perPage: 100 });
        expect(all?.items.map((it) => it.id)).toContain(repo.id);
        expect(await asOutsider().repositories(installation.id, { page: 1, perPage: 10 })).toBeNull();
        expect(await asMember().repositories(999_999_999, { page: 1, perPage: 10 })).toBeNull();
      });

      test('repositories are paginated without duplicates', async () => {
        for (let each = 0; each < 3; each++) await newRepo();
        const fetchPage = (page: number) => asMember().repositories(installation.id, { page, perPage: 2 });
        const total = (await fetchPage(1))?.total ?? 0;
        expect(total).toBeGreaterThanOrEqual(3);
        const ids: number[] = [];
        for (let page = 1; page <= Math.ceil(total / 2); page++) {
          const items = (await fetchPage(page))?.items ?? [];
          expect(items.length).toBeLessThanOrEqual(2);
          ids.push(...items.map(({ id }) => id));
        }
        expect([new Set(ids).size, ids.length]).toEqual([total, total]);
      });
    });

    describe('a repository', () => {
      test('is created empty, and its name cannot be used again', async () => {
        const made = await newRepo();
        expect(made).toMatchObject({
          owner: world.owner,
          isPrivate: true,
          isEmpty: true,
          defaultBranch: 'main',
          description: 'Created by a test',
          webUrl: `${host.webUrl}/${made.owner}/${made.name}`,
          cloneUrl: `${host.webUrl}/${made.owner}/${made.name}.git`,
        });
        expect(await asMember().repository(made)).toEqual({ ...made, canPush: true });
        const again = await newRepo(made.name).catch((error: unknown) => error);
        expect(again).toBeInstanceOf(RepositoryError);
        expect(again).toMatchObject({ reason: 'repo_exists' });
      });

      test('that is private does not exist for others', async () => {
        const made = await newRepo();
        const outside = asOutsider();
        expect(await outside.repository(made)).toBeNull();
        expect(await outside.repository({ owner: world.owner, name: unique('none') })).toBeNull();
        expect(await outside.commit(made, 'main')).toBeNull();
        expect(await outside.readFile(made, { path: 'a', ref: 'main', bytesMax: 100 })).toBeNull();
      });

      test('can be read at a branch and at a commit, but not outside its tree', async () => {
        const made = await newRepo();
        const user = asMember();
        expect(await user.commit(made, 'main')).toBeNull();
        const files = {
          'package.json': '{"name":"ü"}\n',
          'src/deep/a b+c.ts': 'export {};\n',
          'big.txt': 'x'.repeat(5_000),
        };
        const sha = await pushFiles(await urlWithLogin(made), files, { links: { link: 'package.json' } });
        expect((await user.repository(made))?.isEmpty).toBe(false);
        const commit = await user.commit(made, 'main');
        expect(commit).toEqual({ sha, message: 'Begin', treeSha: expect.stringMatching(/^[0-9a-f]{40}$/) });
        expect(await user.commit(made, sha)).toEqual(commit);
        const { entries, isWhole } = await user.tree(made, commit?.treeSha ?? '');
        expect(isWhole).toBe(true);
        expect(Object.fromEntries(entries.map(({ path, kind }) => [path, kind]))).toEqual({
          '.unique': 'file',
          'package.json': 'file',
          src: 'folder',
          'src/deep': 'folder',
          'src/deep/a b+c.ts': 'file',
          'big.txt': 'file',
          link: 'symlink',
        });
        expect(entries.find(({ path }) => path === 'big.txt')?.bytes).toBe(5_000);
        const read = (path: string, ref = 'main') => user.readFile(made, { path, ref, bytesMax: 4_000 });
        expect(await read('package.json')).toBe('{"name":"ü"}\n');
        expect(await read('src/deep/a b+c.ts', sha)).toBe('export {};\n');
        for (const path of ['big.txt', 'src', 'none', '', '.', '..', '../x', 'src/../package.json', 'a//b'])
          expect([path, await read(path)]).toEqual([path, null]);
        for (const ref of ['none', '..', '--all', 'HEAD', '0'.repeat(40), 'main..main', 'a b'])
          expect([ref, await user.commit(made, ref)]).toEqual([ref, null]);
      });

      test('a branch name can have a slash', async () => {
        const made = await newRepo();
        const branch = 'feature/one#2';
        const sha = await pushFiles(await urlWithLogin(made), { a: 'b' }, { branch });
        expect((await asMember().commit(made, branch))?.sha).toBe(sha);
        expect(await asMember().readFile(made, { path: 'a', ref: branch, bytesMax: 10 })).toBe('b');
      });

      test('invalid names do not exist', async () => {
        const { owner } = world;
        for (const name of ['..', 'a/b', 'x.git', ''])
          expect([name, await asMember().repository({ owner, name })]).toEqual([name, null]);
        for (const wrong of ['..', `${owner}?x=`, ''])
          expect([wrong, await asMember().repository({ owner: wrong, name: 'x' })]).toEqual([wrong, null]);
      });

      test('credentials for one repository do not open another', async () => {
        const [one, other] = [await newRepo(), await newRepo()];
        const url = await urlWithLogin(one);
        expect(await listRemote(url)).toBe('');
        const wrong = url.replace(`/${one.name}.git`, `/${other.name}.git`);
        expect(await listRemote(wrong).catch(String)).toContain('not found');
        expect(await host.asInstallation(installation.id, one).repository(other)).toBeNull();
      });
    });

    test('credentials of a deleted repository do not open a new one with the same name', async () => {
      const gone = await newRepo();
      const before = host.asInstallation(installation.id, gone);
      expect(await before.repository(gone)).toMatchObject({ id: gone.id });
      const url = await urlWithLogin(gone);
      await world.remove(gone);
      const anew = await newRepo(gone.name);
      expect(anew.id).not.toBe(gone.id);
      expect(await before.repository(anew)).toBeNull();
      expect(await listRemote(url).catch(String)).toContain('not found');
      const later = await world.another();
      expect(await failureCode(later.asInstallation(installation.id, gone).credentials())).toBe('not_found');
    });

    describe('hooks', () => {
      test('are found by URL and can be removed twice', async () => {
        const repo = await newRepo();
        const client = host.asInstallation(installation.id, repo);
        const url = `http://127.0.0.1:9/${unique('hook')}`;
        expect(await client.findHook(repo, url)).toBeNull();
        const made = await client.createHook(repo, url);
        expect(await client.findHook(repo, url)).toEqual(made);
        expect(await client.findHook(repo, `${url}x`)).toBeNull();
        expect(await failureCode(client.createHook(repo, url))).toBe('git_host_unavailable');
        await client.removeHook(repo, made.id);
        await client.removeHook(repo, made.id);
        expect(await client.findHook(repo, url)).toBeNull();
      });

      test('deliver a push with a valid signature', async () => {
        const repo = await newRepo();
        const delivery = Promise.withResolvers<{ headers: Headers; body: string }>();
        const listening = Bun.serve({
          hostname: '127.0.0.1',
          port: 0,
          fetch: async (request) => {
            const [{ headers }, body] = [request, await request.text()];
            if (headers.get('x-github-event') === 'push') delivery.resolve({ headers, body });
            return new Response(null, { status: 202 });
          },
        });
        const client = host.asInstallation(installation.id, repo);
        await client.createHook(repo, `http://127.0.0.1:${listening.port}/hook`);
        const sha = await pushFiles(await urlWithLogin(repo), { a: 'b' });
        const { headers, body } = await delivery.promise;
        await listening.stop(true);
        const signature = headers.get('x-hub-signature-256');
        expect(await host.isSigned(body, signature)).toBe(true);
        const forged = body.replace(sha, '0'.repeat(40));
        for (const text of [forged, '']) expect(await host.isSigned(text, signature)).toBe(false);
        const sha1 = signature?.replace('sha256', 'sha1') ?? '';
        for (const wrong of [null, '', 'sha256=', `sha256=${'0'.repeat(64)}`, sha1])
          expect(await host.isSigned(body, wrong)).toBe(false);
        expect(headers.get('x-github-delivery')).toMatch(/^[\w-]{10,}$/);
        expect(JSON.parse(body)).toMatchObject({
          ref: 'refs/heads/main',
          after: sha,
          deleted: false,
          repository: { id: repo.id, full_name: `${repo.owner}/${repo.name}` },
          sender: { id: expect.any(Number) },
        });
      });
    });
  });
}
