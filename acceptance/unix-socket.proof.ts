import { beforeAll, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import * as openid from 'openid-client';
import { freePort } from '../scripts/free-port.ts';
import { TestBrowser } from '../server/src/identity/provider/browser-testing.ts';
import { createCertificate } from './support/certificate.ts';
import { run } from './support/commands.ts';
import { mustGit, newRepository, remoteOf } from './support/git.ts';
import { discover, openidErrorOf, signInByCode, startProgram } from './support/openid.ts';
import { newApp, newPasswordUser, newTenant, withToken } from './support/people.ts';
import { hasCaddy, hasNginx, startCaddy, startNginx } from './support/reverse-proxies.ts';
import { runningApp } from './support/running-app.ts';
import { type RunningServer, root, startServer, temporaryFolder } from './support/server.ts';
import { answerLogin, startLogin } from './support/sign-in.ts';
import { askSite, newRelease, newSite, setVisibility, visitorCookie } from './support/sites.ts';
import { until } from './support/until.ts';

interface Behind {
  server: RunningServer;
  socket: string;
}

/** The port of the server is the proxy's, so that helpers of other tests use the proxy. */
async function startBehind({
  folder = temporaryFolder(),
  command,
  scheme = 'http',
}: {
  folder?: string;
  command?: string[];
  scheme?: 'http' | 'https';
} = {}): Promise<Behind> {
  const socket = join(folder, 'svc.sock');
  const port = freePort();
  const server = await startServer({
    port,
    command,
    env: { SVC_LISTEN: `unix:${socket}`, SVC_BASE_URL: `${scheme}://localhost:${port}` },
  });
  return { server, socket };
}

const proxies = [
  { name: 'Caddy', has: hasCaddy, startProxy: startCaddy },
  { name: 'nginx', has: hasNginx, startProxy: startNginx },
].filter(({ has }) => has);

describe.each(proxies)(
  'behind $name with the configuration of the guide, on a Unix socket',
  ({ startProxy }) => {
    let server: RunningServer;
    let socket: string;
    beforeAll(async () => {
      ({ server, socket } = await startBehind());
      await startProxy(server, { socket, folder: temporaryFolder() });
    });

    test('the server answers, and says where it listens', async () => {
      for (const path of ['/healthz', '/readyz'])
        expect([path, (await fetch(server.baseUrl + path)).status]).toEqual([path, 200]);
      expect(server.output()).toContain(`Listening on unix:${socket} for the proxy.`);
      expect(lstatSync(socket).mode & 0o777).toBe(0o660);
      const doctor = await run([join(root, 'svc-admin'), 'doctor', '--json'], { env: server.env });
      const { checks } = doctor.json<{ checks: { name: string; status: string; detail: string }[] }>();
      const find = (name: string) => checks.find((check) => check.name === name);
      expect(find('address')).toMatchObject({
        status: 'ok',
        detail: `Listens on unix:${socket}, public URL ${server.baseUrl}.`,
      });
      expect(find('server')).toMatchObject({
        status: 'ok',
        detail: `A server is ready on ${server.baseUrl}.`,
      });
    });

    test('it has no ports but those for apps in their sandbox, at 127.0.0.1', () => {
      const port = server.port.toString(16).toUpperCase().padStart(4, '0');
      const others = listeningAddresses(server.pid).filter(
        (address) => !address.startsWith('0100007F:') || address.endsWith(port),
      );
      expect(others).toEqual([]);
    });

    test('people sign in, and their address is in the audit', async () => {
      const user = await newPasswordUser(server);
      const login = await startLogin({ SVC_BASE_URL: server.baseUrl, SVC_CONFIG_DIR: temporaryFolder() });
      await answerLogin(login, user);
      expect((await login.ended).code).toBe(0);
      const { call } = await withToken(server, user);
      const { body } = await call('GET', '/api/v1/me/sign-ins');
      const signedIn = body.items.find((item: { event: string }) => item.event === 'signed_in');
      expect(['127.0.0.1', '::1']).toContain(signedIn.address);
    });

    test('sites, running apps and their WebSockets answer at their hosts', async () => {
      const site = await newSite(server);
      await newRelease(site, { 'index.html': '<h1>behind a proxy</h1>' }, { on_finalize: 'deploy' });
      await setVisibility(site, 'internet');
      expect(await askSite(site, '/')).toMatchObject({ status: 200, text: '<h1>behind a proxy</h1>' });
      const app = await runningApp({ within: site.tenant });
      const cookie = await visitorCookie(app.site, app.site.owner);
      await askFrom('127.0.0.9', server, { host: app.authority, cookie, 'x-forwarded-for': '203.0.113.9' });
      expect(app.seen.at(-1)?.headers['x-forwarded-for']).toBe('127.0.0.9');
      const echo = new WebSocket(`ws://127.0.0.1:${server.port}/socket`, {
        headers: { host: app.authority, cookie },
      } as never);
      const echoed = Promise.withResolvers<unknown>();
      echo.onopen = () => echo.send('over the proxy');
      echo.onmessage = ({ data }) => echoed.resolve(data);
      echo.onerror = () => echoed.reject(new Error('No WebSocket.'));
      expect(await echoed.promise).toBe('over the proxy');
      echo.close();
    });

    test('uploads and downloads are streams, and of any size', async () => {
      const app = await runningApp({ within: (await newSite(server)).tenant });
      const cookie = await visitorCookie(app.site, app.site.owner);
      const bytes = 20 * 1024 * 1024;
      const first = Promise.withResolvers<void>();
      const body = new ReadableStream({
        async start(controller) {
          controller.enqueue(new Uint8Array(1024 * 1024));
          await first.promise;
          for (let sent = 1024 * 1024; sent < bytes; sent += 1024 * 1024)
            controller.enqueue(new Uint8Array(1024 * 1024));
          controller.close();
        },
      });
      const answer = app.fetch('/swallow', {
        method: 'POST',
        headers: { cookie },
        body,
        duplex: 'half',
      } as RequestInit);
      // The app has the request before its body has ended.
      await until('the app receives the upload', async () =>
        app.seen.some(({ path }) => path === '/swallow'),
      );
      first.resolve();
      expect(await (await answer).text()).toBe(String(bytes));
      const down = await app.fetch('/down/20', { headers: { cookie } });
      expect((await down.bytes()).length).toBe(bytes);
    });

    test('git clones and pushes', async () => {
      const { tenant } = await newSite(server);
      const repo = await newRepository(tenant, tenant.member);
      const folder = temporaryFolder();
      await mustGit(['clone', '--quiet', remoteOf(tenant, tenant.member, repo), 'copy'], folder);
      expect(existsSync(join(folder, 'copy', 'index.html'))).toBe(true);
    });
  },
);

describe.each(proxies)('behind $name with TLS, as in the guide', ({ startProxy }) => {
  test('openid-client signs in by code, renews, introspects, revokes and signs out; cookies are for this host alone', async () => {
    const folder = temporaryFolder();
    const tls = createCertificate(folder);
    const { server, socket } = await startBehind({ scheme: 'https' });
    await startProxy(server, { socket, folder, tls });
    server.ca = tls.ca;
    const { baseUrl } = server;
    const tenant = await newTenant(server);
    const user = await newPasswordUser(server, tenant.id);
    const owner = await withToken(server, user);
    const app = await newApp(tenant, { owner });
    const program = startProgram();
    const browser = new TestBrowser(baseUrl, {}, baseUrl, tls.ca);
    const config = await discover(server, app.id);
    const metadata = config.serverMetadata();
    expect(metadata.issuer).toBe(`${baseUrl}/oauth`);
    const endpoints = Object.entries(metadata).filter(([name]) => /_(endpoint|uri)$/.test(name));
    expect(endpoints.length).toBeGreaterThan(7);
    for (const [, url] of endpoints) expect(url).toStartWith(`${baseUrl}/oauth/`);

    const tokens = await signInByCode(config, { browser, callback: program.callback, person: user });
    expect(tokens.claims()).toMatchObject({ sub: user.id, aud: app.id, iss: `${baseUrl}/oauth` });
    expect(await openid.fetchUserInfo(config, tokens.access_token, user.id)).toMatchObject({
      email: user.email,
    });
    const renewed = await openid.refreshTokenGrant(config, tokens.refresh_token!);
    expect(await openid.tokenIntrospection(config, renewed.access_token)).toMatchObject({
      active: true,
      sub: user.id,
      client_id: app.id,
    });
    await openid.tokenRevocation(config, renewed.refresh_token!);
    expect(await openid.tokenIntrospection(config, renewed.access_token)).toEqual({ active: false });
    expect(await openidErrorOf(openid.refreshTokenGrant(config, renewed.refresh_token!))).toBe(
      'invalid_grant',
    );

    const again = await signInByCode(config, { browser, callback: program.callback, person: user });
    const bye = `${program.origin}/bye`;
    const end = openid.buildEndSessionUrl(config, {
      post_logout_redirect_uri: bye,
      id_token_hint: again.id_token!,
    });
    const page = await browser.press(await browser.open(end.href), 'Sign out');
    expect([new URL(page.url).pathname, page.html]).toEqual(['/bye', 'received']);
    await until(
      'the tokens have ended',
      async () => !(await openid.tokenIntrospection(config, again.access_token)).active,
    );

    const cookies = browser.setCookies;
    expect(cookies.some((line) => line.startsWith('__Host-svc_session='))).toBe(true);
    const isBound = (line: string) =>
      /^__(Host|Secure)-/.test(line) && /; secure/i.test(line) && !/; domain=/i.test(line);
    expect(cookies.filter((line) => !isBound(line))).toEqual([]);
    // Another certificate authority is not trusted: TLS is really verified here.
    await expect(fetch(`${baseUrl}/healthz`)).rejects.toThrow();
    program.stop();
  });
});

describe('the socket', () => {
  const start = (socket: string) =>
    run([process.execPath, join(root, 'server/src/supervise.ts')], {
      env: {
        SVC_DATABASE_URL: '',
        SVC_DATA_DIR: join(temporaryFolder(), 'data'),
        SVC_LISTEN: `unix:${socket}`,
        SVC_BASE_URL: 'http://localhost:4400',
      },
    });

  test('of a server that was killed is replaced, and is removed at the end', async () => {
    const first = await startBehind();
    first.server.signal('SIGKILL');
    await first.server.exited;
    expect(existsSync(first.socket)).toBe(true);
    const { port, dataDir, env } = first.server;
    const again = await startServer({ port, dataDir, env });
    expect((await fetch('http://localhost/healthz', { unix: first.socket })).status).toBe(200);
    expect(await again.stop()).toBe(0);
    expect(existsSync(first.socket)).toBe(false);
  });

  test.skipIf(process.getuid?.() !== 0)(
    'of a server of root is in a folder of the user that runs it',
    async () => {
      const folder = temporaryFolder();
      const refused = await start(join(folder, 'svc.sock'));
      expect(refused.code).toBe(1);
      const uid = /SVC_LISTEN: user (\d+), .* must be able to create files in /.exec(refused.stderr)?.[1];
      const proxyGroup = 12_345;
      chownSync(folder, Number(uid), proxyGroup);
      chmodSync(folder, 0o2750);
      const { server, socket } = await startBehind({
        folder,
        command: [process.execPath, join(root, 'server/src/supervise.ts')],
      });
      const { mode, uid: owner, gid } = lstatSync(socket);
      expect([mode & 0o777, owner, gid]).toEqual([0o660, Number(uid), proxyGroup]);
      expect((await fetch('http://localhost/readyz', { unix: socket })).status).toBe(200);
      expect(await server.stop()).toBe(0);
      expect(existsSync(socket)).toBe(false);
    },
  );

  test('of another program is refused, as are a file that is no socket and a missing folder', async () => {
    const socket = join(temporaryFolder(), 'other.sock');
    const other = createServer().listen(socket);
    await new Promise((resolve) => other.once('listening', resolve));
    const inUse = await start(socket);
    expect([inUse.code, inUse.stderr]).toEqual([1, expect.stringContaining(`${socket} is in use`)]);
    expect(existsSync(socket)).toBe(true);
    other.close();
    const file = join(temporaryFolder(), 'file');
    writeFileSync(file, 'kept');
    const notSocket = await start(file);
    expect([notSocket.code, notSocket.stderr]).toEqual([1, expect.stringContaining('is not a socket')]);
    expect(readFileSync(file, 'utf8')).toBe('kept');
    const nowhere = await start(join(temporaryFolder(), 'missing', 'svc.sock'));
    expect([nowhere.code, nowhere.stderr]).toEqual([1, expect.stringContaining('Create this folder')]);
  });
});

/** `hexadecimal address:port` of the TCP listeners of a process. */
function listeningAddresses(pid: number): string[] {
  const inodes = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
    } catch {
      return undefined;
    }
  });
  return ['tcp', 'tcp6']
    .flatMap((name) => readFileSync(`/proc/${pid}/net/${name}`, 'utf8').trim().split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[3] === '0A' && inodes.includes(fields[9]))
    .map((fields) => fields[1]!);
}

function askFrom(localAddress: string, { port }: RunningServer, headers: Record<string, string>) {
  return new Promise<void>((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, localAddress, headers, path: '/x' }, (answer) =>
      answer.resume().on('end', resolve),
    );
    sent.on('error', reject).end();
  });
}
