import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { patientMs } from '../scripts/patience.ts';
import { userOf } from '../sdk/src/server-user.ts';
import { hasChromium, openChromium } from './support/chromium.ts';
import { newPerson, newTenant, type Person } from './support/people.ts';
import { type RunningApp, runningApp, zeros } from './support/running-app.ts';
import { readMetrics, startServer } from './support/server.ts';
import { setVisibility, visitorCookie } from './support/sites.ts';
import { sendRaw } from './support/sockets.ts';
import { until } from './support/until.ts';

const modes = ['cookie', 'bearer', 'api_key', 'anonymous'] as const;
const visibilities = ['private', 'invite_only', 'public', 'internet'] as const;
const letters = ['O', 'C', 'I', 'M', 'A', 'X', 'N'] as const;
type Letter = (typeof letters)[number];

/** Who may open an app of each visibility; the role of admin alone does not open it. */
const reached: Readonly<Record<(typeof visibilities)[number], string>> = {
  private: 'OC',
  invite_only: 'OCI',
  public: 'OCIMA',
  internet: 'OCIMAXN',
};

interface Known {
  person: Person | null;
  headers: Record<(typeof modes)[number], Record<string, string>>;
}

async function newPat(person: Person, tenantId: string, more: object = {}): Promise<string> {
  const body = { name: `pat-${Bun.randomUUIDv7().slice(-12)}`, actions: ['read', 'write'], ...more };
  const made = await person.call('POST', `/api/v1/tenants/${tenantId}/pats`, body);
  if (made.status !== 201) throw new Error(`No token was made: ${JSON.stringify(made.body)}`);
  return made.body.secret;
}

/** Credentials of each kind, issued while the app was public. */
async function knownTo(app: RunningApp, person: Person | null, patTenant: string): Promise<Known> {
  if (!person) return { person, headers: { cookie: {}, bearer: {}, api_key: {}, anonymous: {} } };
  const cookie = await visitorCookie(app.site, person);
  const pat = await newPat(person, patTenant);
  const headers = {
    cookie: { cookie },
    anonymous: { cookie },
    bearer: { authorization: `Bearer ${person.token}` },
    api_key: { 'x-api-key': pat },
  };
  return { person, headers };
}

async function everybody(app: RunningApp): Promise<Record<Letter, Known>> {
  const { tenant, owner } = app.site;
  const member = { tenant: tenant.id, role: 'tenant_member' } as const;
  const [coOwner, invited, plain] = await Promise.all([
    newPerson(tenant.server, member),
    newPerson(tenant.server, member),
    newPerson(tenant.server, member),
  ]);
  const base = `${tenant.base}/apps/${app.site.app.id}`;
  expect((await owner.call('POST', `${base}/co-owners`, { user_id: coOwner.id })).status).toBe(201);
  expect((await owner.call('POST', `${base}/members`, { user_id: invited.id })).status).toBe(201);
  await setVisibility(app.site, 'internet');
  const theirs = (await tenant.outsider.call('GET', '/api/v1/tenants')).body.items[0].id;
  return {
    O: await knownTo(app, owner, tenant.id),
    C: await knownTo(app, coOwner, tenant.id),
    I: await knownTo(app, invited, tenant.id),
    M: await knownTo(app, plain, tenant.id),
    A: await knownTo(app, tenant.admin, tenant.id),
    X: await knownTo(app, tenant.outsider, theirs),
    N: await knownTo(app, null, tenant.id),
  };
}

function expected(mode: (typeof modes)[number], visibility: (typeof visibilities)[number], letter: Letter) {
  const isReached = reached[visibility].includes(letter);
  const isIdentified = letter !== 'N' && mode !== 'anonymous';
  // A token is valid in its own tenant only.
  if (mode === 'api_key' && letter === 'X') return '403';
  if (isReached) return isIdentified ? `200 ${letter}` : '200 nobody';
  if (mode === 'cookie' || mode === 'anonymous' || letter === 'N') return '401';
  return '404';
}

test('each auth mode and visibility lets the right principals through, and passes their identity to the app', async () => {
  const app = await runningApp();
  const people = await everybody(app);
  const options = { baseUrl: app.site.server.baseUrl, appId: app.site.app.id };
  const asked = async (mode: (typeof modes)[number], letter: Letter) => {
    const headers = { 'x-svc-user': 'forged', ...people[letter].headers[mode] };
    const answer = await app.fetch('/who', { headers });
    await answer.text();
    return answer;
  };
  /** The app gets the owner's identity only in the mode that passes it on. */
  const isHeardOf = async (mode: (typeof modes)[number]) => {
    if ((await asked(mode, 'O')).status !== 200) return false;
    const user = await userOf(app.seen.at(-1)!.headers, options);
    return (user === null) === (mode === 'anonymous');
  };
  const answered = async (mode: (typeof modes)[number], letter: Letter) => {
    const before = app.seen.length;
    const answer = await asked(mode, letter);
    if (answer.status !== 200) {
      expect([mode, letter, answer.headers.get('content-type'), app.seen.length - before]).toEqual([
        mode,
        letter,
        'application/problem+json',
        0,
      ]);
      return String(answer.status);
    }
    const { headers } = app.seen.at(-1)!;
    expect(JSON.stringify(headers)).not.toMatch(/__Host-svc|svcpat_|forged/);
    if (mode === 'bearer') expect(headers.authorization).toBeUndefined();
    const user = await userOf(headers, options);
    const who = letters.find((it) => user !== null && people[it].person?.id === user.id);
    return `200 ${who ?? 'nobody'}`;
  };
  const [found, wanted]: Record<string, string>[] = [{}, {}];
  for (const visibility of visibilities) {
    await setVisibility(app.site, visibility);
    for (const mode of modes) {
      await app.setMode(mode);
      await until('the mode is heard of', () => isHeardOf(mode), 2_000);
      for (const letter of letters) {
        const cell = `${mode} ${visibility} ${letter}`;
        found![cell] = await answered(mode, letter);
        wanted![cell] = expected(mode, visibility, letter);
      }
    }
  }
  expect(Object.keys(wanted!).length).toBe(4 * 4 * 7);
  expect(found!).toEqual(wanted!);
});

describe('a credential', () => {
  test('that is invalid is refused in bearer and api_key mode, also where none is needed', async () => {
    const app = await runningApp();
    await setVisibility(app.site, 'internet');
    await app.setMode('bearer');
    const bearer = (value: string) => app.fetch('/', { headers: { authorization: value } });
    await until('the mode is heard of', async () => (await bearer('Bearer wrong')).status === 401, 2_000);
    expect((await bearer('Basic YTpi')).status).toBe(401);
    expect((await app.fetch('/')).status).toBe(200);
    await app.setMode('api_key');
    const key = (value: string) => app.fetch('/', { headers: { 'x-api-key': value } });
    await until('the mode is heard of', async () => (await key('wrong')).status === 401, 2_000);
    expect((await app.fetch('/')).status).toBe(200);
  });

  test('that is a PAT is valid for the apps and actions of its scope', async () => {
    const app = await runningApp();
    await app.setMode('api_key');
    const { tenant, owner } = app.site;
    const other = await runningApp({ within: tenant });
    const asked = async (more: object, method = 'GET') => {
      const headers = { 'x-api-key': await newPat(owner, tenant.id, more) };
      return (await app.fetch('/', { method, headers })).status;
    };
    await until('the mode is heard of', async () => (await asked({})) === 200, 2_000);
    expect(await asked({ apps: [app.site.app.id] })).toBe(200);
    expect(await asked({ apps: [other.site.app.id] })).toBe(403);
    expect(await asked({ actions: ['read'] })).toBe(200);
    expect(await asked({ actions: ['read'] }, 'POST')).toBe(403);
    expect(await asked({ actions: ['write'] }, 'POST')).toBe(200);
    expect(await asked({ actions: ['write'] })).toBe(403);
  });

  test('loses its effect within a second when it is revoked, or its person suspended or removed', async () => {
    const app = await runningApp();
    const { tenant, owner } = app.site;
    const members = `${tenant.base}/members`;
    await setVisibility(app.site, 'public');
    const person = await newPerson(tenant.server, { tenant: tenant.id, role: 'tenant_member' });
    const cookie = await visitorCookie(app.site, person);
    const status = async (headers: Record<string, string>) => (await app.fetch('/', { headers })).status;
    await until('they are let in', async () => (await status({ cookie })) === 200, 2_000);
    expect((await tenant.admin.call('DELETE', `${members}/${person.id}`)).status).toBe(204);
    await until('the visit is over', async () => (await status({ cookie })) === 401, 1_000);

    await app.setMode('api_key');
    const made = await owner.call('POST', `${tenant.base}/pats`, { name: 'short', actions: ['read'] });
    const key = { 'x-api-key': made.body.secret };
    await until('it is let in', async () => (await status(key)) === 200, 2_000);
    const revoked = await owner.call('DELETE', `${tenant.base}/pats/${made.body.id}`);
    expect(revoked.status).toBe(200);
    await until('the token is over', async () => (await status(key)) === 401, 1_000);
  });
});

test('a refused page redirects to the sign-in in cookie mode, and is a problem document in bearer mode', async () => {
  const app = await runningApp();
  const asPage = { headers: { accept: 'text/html' } };
  const opened = await app.fetch('/a?b=c', asPage);
  expect([opened.status, opened.headers.get('location')]).toEqual([
    303,
    expect.stringContaining('/site-auth?'),
  ]);
  await app.setMode('bearer');
  await until('the mode is heard of', async () => (await app.fetch('/', asPage)).status === 401, 2_000);
  expect(app.seen).toEqual([]);
});

test.if(hasChromium)('a page without a content type is displayed', async () => {
  const server = await startServer();
  const app = await runningApp({ within: await newTenant(server) });
  await setVisibility(app.site, 'internet');
  await app.setMode('anonymous');
  await until('it is open', async () => (await app.fetch('/untyped')).status === 200, 2_000);
  const browser = await openChromium({ width: 400, height: 300 });
  const { port } = server;
  const head = `GET /untyped HTTP/1.1\r\nHost: ${app.site.host}:${port}\r\n\r\n`;
  const [answer] = await sendRaw(port, [{ bytes: Buffer.from(head), isHead: false }]);
  expect([answer?.status, answer?.headers['content-type']]).toEqual([200, undefined]);
  const page = await browser.newPage();
  await page.goto(`http://${app.site.host}:${port}/untyped`);
  expect(await page.getByRole('heading').textContent()).toBe('hello');
  await browser.close();
});

test('forms and sockets of another app do not act as the visitor', async () => {
  const app = await runningApp();
  const cookie = await visitorCookie(app.site, app.site.owner);
  const post = (headers: Record<string, string>) =>
    app
      .fetch('/', { method: 'POST', body: 'a=1', headers: { cookie, ...headers } })
      .then(({ status }) => status);
  const own = `http://${app.authority}`;
  expect(await post({ origin: own, 'sec-fetch-site': 'same-origin' })).toBe(200);
  expect(await post({ origin: own })).toBe(200);
  expect(
    await post({ 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }),
  ).toBe(401);
  expect(await post({ origin: 'http://evil.apps.localhost' })).toBe(401);
  const opened = (origin: string) =>
    new Promise<boolean>((resolve) => {
      const socket = new WebSocket(`ws://127.0.0.1:${app.site.server.port}/socket`, {
        headers: { host: app.authority, cookie, origin },
      } as never);
      socket.onopen = () => resolve(true);
      socket.onerror = () => resolve(false);
    });
  expect(await opened(own)).toBe(true);
  expect(await opened('http://evil.apps.localhost')).toBe(false);
});

test('an open socket ends within a second when its person loses the app', async () => {
  const app = await runningApp();
  const cookie = await visitorCookie(app.site, app.site.owner);
  const socket = new WebSocket(`ws://127.0.0.1:${app.site.server.port}/socket`, {
    headers: { host: app.authority, cookie },
  } as never);
  const heard = Promise.withResolvers<unknown>();
  const closed = Promise.withResolvers<number>();
  socket.onmessage = ({ data }) => heard.resolve(data);
  socket.onclose = ({ code }) => closed.resolve(code);
  await new Promise<void>((resolve) => {
    socket.onopen = () => resolve();
  });
  socket.send('hello');
  expect(await heard.promise).toBe('hello');
  const { tenant, owner } = app.site;
  const begun = performance.now();
  const archived = await owner.call('POST', `${tenant.base}/apps/${app.site.app.id}/archive`);
  expect(archived.status).toBe(200);
  expect(await closed.promise).toBe(1001);
  expect(performance.now() - begun).toBeLessThan(patientMs(2_000));
});

test('the requests of an app are counted by the minute for its owners, and for nobody else', async () => {
  const app = await runningApp();
  await setVisibility(app.site, 'internet');
  const { tenant, owner } = app.site;
  await until('it answers', async () => (await app.fetch('/')).status === 200, 2_000);
  for (let at = 0; at < 5; at++) await (await app.fetch('/')).text();
  const path = `${tenant.base}/apps/${app.site.app.id}/metrics?range=1h`;
  const figures = await until(
    'they are written',
    async () => {
      const { body } = await owner.call('GET', path);
      return body.total.requests >= 6 && body;
    },
    30_000,
  );
  expect(figures.total.by_status['2xx']).toBeGreaterThanOrEqual(6);
  expect(figures.total.bytes_out).toBeGreaterThan(0);
  expect(figures.total.p50_ms).toBeGreaterThan(0);
  expect(figures.points.length).toBe(60);
  expect((await tenant.outsider.call('GET', path)).status).toBe(404);
  const text = await readMetrics(tenant.server);
  expect(text).toMatch(/^svc_app_requests_total [1-9]/m);
});

test.skipIf(process.platform !== 'linux')(
  'large bodies pass through the server with far less memory than they have bytes, each way',
  async () => {
    const app = await runningApp();
    await setVisibility(app.site, 'internet');
    await until('it answers', async () => (await app.fetch('/')).status === 200, 2_000);
    const pieces = 400;
    const pass = async () => {
      const sent = { method: 'POST', body: zeros(pieces), duplex: 'half' } as RequestInit;
      expect(await (await app.fetch('/swallow', sent)).text()).toBe(String(pieces * mib));
      let bytes = 0;
      const { body } = await app.fetch(`/down/${pieces}`);
      for await (const piece of body as unknown as AsyncIterable<Uint8Array>) bytes += piece.length;
      expect(bytes).toBe(pieces * mib);
    };
    const resident = () =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${app.site.server.pid}/status`, 'utf8'))?.[1]) / 1024;
    const before = resident();
    let most = before;
    const timer = setInterval(() => {
      most = Math.max(most, resident());
    }, 10);
    await pass();
    clearInterval(timer);
    // A server that has just started grows by some 60 to 120 MiB, whether 100 or 800 MiB go through it.
    expect(most - before).toBeLessThan(pieces / 2);
  },
);

const mib = 1024 * 1024;
