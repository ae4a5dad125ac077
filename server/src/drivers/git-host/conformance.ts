import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readPush } from '../../git-connections/push-payload.ts';
import { codeOf } from '../../testing.ts';
import {
  type GitAccount,
  type GitHost,
  type Installation,
  type RepoName,
  type Repository,
  RepositoryRefused,
  UserTokenRefused,
} from './git-host.ts';
import { gitText, newFolder, pushFiles } from './testing/git-folder.ts';

/** A git host with an owner that the app is installed for, a member of it, and somebody who is not. */
export interface GitHostWorld {
  host: GitHost;
  owner: string;
  member: { login: string; token: string };
  outsider: { login: string; token: string };
  approve(userCode: string): Promise<void>;
  deny(userCode: string): Promise<void>;
  expire(userCode: string): Promise<void>;
  /** As the member, with other means than the client's. */
  remove(repo: RepoName): Promise<void>;
  /** Lets the interval of a code pass. */
  wait(userCode: string): Promise<void>;
  /** Another client of the same host. */
  another(): Promise<GitHost>;
  stop(): Promise<void>;
}

const unique = (name: string) => `${name}-${Bun.randomUUIDv7().replaceAll('-', '').slice(-12)}`;

/** What every git host has to do as the others do it. */
export function gitHostConformance(name: string, makeWorld: () => Promise<GitHostWorld>): void {
  describe(name, () => {
    setDefaultTimeout(60_000);
    let world: GitHostWorld;
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
    async function newRepo(set: { isPrivate?: boolean; name?: string } = {}): Promise<Repository> {
      const owner: GitAccount = installation.account;
      return host.asInstallation(installation.id).createRepository({
        ...{ owner, name: set.name ?? unique('repo'), isPrivate: set.isPrivate ?? true },
        ...{ description: 'Made by a test', userToken: world.member.token },
      });
    }
    async function addressOf(repo: Repository): Promise<string> {
      const { username, password } = await host.asInstallation(installation.id, repo).credentials();
      const url = new URL(host.remoteUrl(repo));
      return Object.assign(url, { username, password }).href;
    }

    test('says that it knows us', async () => {
      expect(await host.check()).toEqual({ ok: true, detail: expect.stringContaining(host.webUrl) });
    });

    describe('the device flow', () => {
      test('sends people to the host itself, waits for them, and gives the tokens of who approved', async () => {
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

      test('tells who asks too soon to wait longer, each time', async () => {
        const { deviceCode } = await host.beginDeviceFlow();
        expect(await host.pollDeviceFlow(deviceCode)).toEqual({ status: 'pending' });
        expect(await host.pollDeviceFlow(deviceCode)).toEqual({ status: 'slow_down', intervalSeconds: 10 });
        expect(await host.pollDeviceFlow(deviceCode)).toEqual({ status: 'slow_down', intervalSeconds: 15 });
      });

      test('ends where it is denied, where it is too late, and where the code is none', async () => {
        const denied = await host.beginDeviceFlow();
        await world.deny(denied.userCode);
        expect(await host.pollDeviceFlow(denied.deviceCode)).toEqual({ status: 'denied' });
        const late = await host.beginDeviceFlow();
        await world.expire(late.userCode);
        expect(await host.pollDeviceFlow(late.deviceCode)).toEqual({ status: 'expired' });
        expect(await host.pollDeviceFlow('0'.repeat(40))).toEqual({ status: 'unknown' });
      });

      test('a token is renewed once, and by nothing that is no refresh token', async () => {
        const grant = await host.beginDeviceFlow();
        await world.approve(grant.userCode);
        const polled = await host.pollDeviceFlow(grant.deviceCode);
        const refreshToken = polled.status === 'approved' ? polled.tokens.refreshToken : null;
        const renewed = await host.refresh(refreshToken ?? '');
        expect((await host.asUser(renewed?.token ?? '').account()).login).toBe(world.member.login);
        expect(renewed?.refreshToken).not.toBe(refreshToken);
        expect(await host.refresh(refreshToken ?? '')).toBeNull();
        expect(await host.refresh('none')).toBeNull();
      });
    });

    test('a token that is none is refused as such, whatever is asked', async () => {
      const user = host.asUser('ghu_000000000000000000000000000000000000');
      for (const ask of [
        () => user.account(),
        () => user.installations(),
        () => user.repository({ owner: world.owner, name: 'any' }),
        () => user.repositories(installation.id, { page: 1, perPage: 10 }),
      ])
        expect(await ask().catch((error: unknown) => error)).toBeInstanceOf(UserTokenRefused);
    });

    describe('installations', () => {
      test('are found by owner, by repository and by number, and are null where there is none', async () => {
        const repo = await newRepo();
        expect(installation.account).toMatchObject({ login: world.owner, kind: 'organization' });
        expect(await host.installationOfRepo(repo)).toEqual(installation);
        expect(await host.installation(installation.id)).toEqual(installation);
        for (const ask of [
          host.installation(999_999_999),
          host.installationOfOwner(unique('nobody')),
          host.installationOfRepo({ owner: world.owner, name: unique('none') }),
          host.installationOfRepo({ owner: '..', name: '..' }),
        ])
          expect(await ask).toBeNull();
      });

      test('a person sees those they reach; of others they see no repositories', async () => {
        const repo = await newRepo();
        expect(await asMember().installations()).toContainEqual(installation);
        const own = await host.asUser(world.outsider.token).installations();
        expect(own.map(({ id }) => id)).not.toContain(installation.id);
        const all = await asMember().repositories(installation.id, { page: 1, perPage: 100 });
        expect(all?.items.map((it) => it.id)).toContain(repo.id);
        const outside = host.asUser(world.outsider.token);
        expect(await outside.repositories(installation.id, { page: 1, perPage: 10 })).toBeNull();
        expect(await asMember().repositories(999_999_999, { page: 1, perPage: 10 })).toBeNull();
      });

      test('repositories come in pages, each once', async () => {
        for (let each = 0; each < 3; each++) await newRepo();
        const seen: number[] = [];
        let total = 0;
        for (let page = 1; ; page++) {
          const found = await asMember().repositories(installation.id, { page, perPage: 2 });
          total = found?.total ?? 0;
          if (!found || found.items.length === 0) break;
          expect(found.items.length).toBeLessThanOrEqual(2);
          seen.push(...found.items.map(({ id }) => id));
        }
        expect([new Set(seen).size, seen.length]).toEqual([total, total]);
        expect(total).toBeGreaterThanOrEqual(3);
      });
    });

    describe('a repository', () => {
      test('is made empty, as it was asked for, and its name is taken then', async () => {
        const made = await newRepo();
        expect(made).toMatchObject({
          ...{ owner: world.owner, isPrivate: true, isEmpty: true, defaultBranch: 'main' },
          ...{ description: 'Made by a test', webUrl: `${host.webUrl}/${made.owner}/${made.name}` },
          cloneUrl: `${host.webUrl}/${made.owner}/${made.name}.git`,
        });
        expect(await asMember().repository(made)).toEqual({ ...made, canPush: true });
        const again = await newRepo({ name: made.name }).catch((error: unknown) => error);
        expect(again).toBeInstanceOf(RepositoryRefused);
        expect((again as RepositoryRefused).reason).toBe('repo_exists');
      });

      test('that is private is to others as if it were not there', async () => {
        const made = await newRepo();
        const outside = host.asUser(world.outsider.token);
        expect(await outside.repository(made)).toBeNull();
        expect(await outside.repository({ owner: world.owner, name: unique('none') })).toBeNull();
        expect(await outside.commit(made, 'main')).toBeNull();
        expect(await outside.readFile(made, { path: 'a', ref: 'main', bytesMax: 100 })).toBeNull();
      });

      test('is read at a branch and at a commit: files, folders, links, and nothing beyond it', async () => {
        const made = await newRepo();
        const user = asMember();
        expect(await user.commit(made, 'main')).toBeNull();
        const files = {
          'package.json': '{"name":"ü"}\n',
          'src/deep/a b+c.ts': 'export {};\n',
          'big.txt': 'x'.repeat(5_000),
        };
        const sha = await pushFiles(await addressOf(made), files, { links: { link: 'package.json' } });
        expect((await user.repository(made))?.isEmpty).toBe(false);
        const commit = await user.commit(made, 'main');
        expect(commit).toEqual({ sha, message: 'Begin', treeSha: expect.stringMatching(/^[0-9a-f]{40}$/) });
        expect(await user.commit(made, sha)).toEqual(commit);
        const { entries, isWhole } = await user.tree(made, commit?.treeSha ?? '');
        expect(isWhole).toBe(true);
        expect(Object.fromEntries(entries.map(({ path, kind }) => [path, kind]))).toEqual({
          ...{ '.unique': 'file', 'package.json': 'file', src: 'folder', 'src/deep': 'folder' },
          ...{ 'src/deep/a b+c.ts': 'file', 'big.txt': 'file', link: 'symlink' },
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

      test('a branch with a slash in its name is read as well', async () => {
        const made = await newRepo();
        const branch = 'feature/one#2';
        const sha = await pushFiles(await addressOf(made), { a: 'b' }, { branch });
        expect((await asMember().commit(made, branch))?.sha).toBe(sha);
        expect(await asMember().readFile(made, { path: 'a', ref: branch, bytesMax: 10 })).toBe('b');
      });

      test('names that are none reach nobody', async () => {
        for (const repo of [
          { owner: '..', name: 'x' },
          { owner: world.owner, name: '..' },
          { owner: world.owner, name: 'a/b' },
          { owner: `${world.owner}?x=`, name: 'y' },
          { owner: world.owner, name: 'x.git' },
          { owner: '', name: '' },
        ])
          expect([repo, await asMember().repository(repo)]).toEqual([repo, null]);
      });

      test('credentials that are limited to one do not open another', async () => {
        const [one, other] = [await newRepo(), await newRepo()];
        const folder = newFolder();
        const address = await addressOf(one);
        expect(await gitText(folder.path, ['ls-remote', address])).toBe('');
        const wrong = address.replace(`/${one.name}.git`, `/${other.name}.git`);
        const refused = await gitText(folder.path, ['ls-remote', wrong]).catch(String);
        await folder.remove();
        expect(refused).toContain('not found');
        const hands = host.asInstallation(installation.id, one);
        expect(await hands.repository(other)).toBeNull();
      });
    });

    test('a repository that was made anew under the name of another is not opened by what that one was', async () => {
      const gone = await newRepo();
      const before = host.asInstallation(installation.id, gone);
      expect(await before.repository(gone)).toMatchObject({ id: gone.id });
      const { username, password } = await before.credentials();
      await world.remove(gone);
      const anew = await newRepo({ name: gone.name });
      expect(anew.id).not.toBe(gone.id);
      expect(await before.repository(anew)).toBeNull();
      const address = Object.assign(new URL(host.remoteUrl(anew)), { username, password }).href;
      const folder = newFolder();
      expect(await gitText(folder.path, ['ls-remote', address]).catch(String)).toContain('not found');
      await folder.remove();
      // One that knows nothing from before.
      const later = await world.another();
      expect(await codeOf(later.asInstallation(installation.id, gone).credentials())).toBe('not_found');
    });

    describe('hooks', () => {
      test('are found again by their address, and are no error to remove twice', async () => {
        const repo = await newRepo();
        const hands = host.asInstallation(installation.id, repo);
        const url = `http://127.0.0.1:9/${unique('hook')}`;
        expect(await hands.findHook(repo, url)).toBeNull();
        const made = await hands.createHook(repo, url);
        expect(await hands.findHook(repo, url)).toEqual(made);
        expect(await hands.findHook(repo, `${url}x`)).toBeNull();
        expect(await codeOf(hands.createHook(repo, url))).toBe('git_host_unavailable');
        await hands.removeHook(repo, made.id);
        await hands.removeHook(repo, made.id);
        expect(await hands.findHook(repo, url)).toBeNull();
      });

      test('tell of a push, signed so that only the host can have done it', async () => {
        const repo = await newRepo();
        const told = Promise.withResolvers<{ headers: Headers; body: string }>();
        const listening = Bun.serve({
          hostname: '127.0.0.1',
          port: 0,
          fetch: async (request) => {
            const body = await request.text();
            if (request.headers.get('x-github-event') === 'push')
              told.resolve({ headers: request.headers, body });
            return new Response(null, { status: 202 });
          },
        });
        const hands = host.asInstallation(installation.id, repo);
        await hands.createHook(repo, `http://127.0.0.1:${listening.port}/hook`);
        const sha = await pushFiles(await addressOf(repo), { a: 'b' });
        const { headers, body } = await told.promise;
        await listening.stop(true);
        const signature = headers.get('x-hub-signature-256');
        expect(await host.isSigned(body, signature)).toBe(true);
        const forged = body.replace(sha, '0'.repeat(40));
        for (const [text, sign] of [
          [forged, signature],
          [body, null],
          [body, ''],
          [body, 'sha256='],
          [body, `sha256=${'0'.repeat(64)}`],
          [body, signature?.replace('sha256', 'sha1') ?? ''],
          ['', signature],
        ] as const)
          expect(await host.isSigned(text, sign)).toBe(false);
        expect(readPush(headers.get('x-github-delivery') ?? '', body)).toEqual({
          ...{ deliveryId: expect.stringMatching(/^[\w-]{10,}$/), repoId: repo.id, branch: 'main' },
          ...{ repo: `${repo.owner}/${repo.name}`, commit: sha, isDeleted: false },
          accountId: expect.any(Number),
        });
      });
    });
  });
}
