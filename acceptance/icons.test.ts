import { beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type Svc, svcFor } from './support/commands.ts';
import { queryDatabase } from './support/database.ts';
import { gif, jpeg, png, webp } from './support/images.ts';
import { newApp, type Person } from './support/people.ts';
import { freePort, temporaryFolder } from './support/server.ts';
import { newWorld, type World } from './support/world.ts';

let world: World;
let svc: Svc;
beforeAll(async () => {
  world = await newWorld();
  svc = as(world.people.O);
});

const as = ({ token }: Person) => svcFor(world.tenant.server, { token, tenant: world.tenant.slug });
const ownApp = () => newApp(world.tenant, { owner: world.people.O, coOwner: world.people.C });
const words = ['apps', 'sign-icon-upload'];
const iconBytesMax = 2 * 1024 * 1024;

interface Signed {
  put_url: string;
  icon_url: string;
  content_type: string;
  variant: string;
  bytes_max: number;
  expires_at: string;
  plan: { operation: string; fingerprint: string; changes: object[] };
}
interface Uploaded extends Signed {
  uploaded: boolean;
  app: string;
  app_id: string;
  width: number;
  height: number;
}

function fileOf(bytes: Uint8Array | string, name = 'icon.png'): string {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, bytes);
  return path;
}

async function icons(app: string): Promise<{ icon_url: string | null; icon_dark_url: string | null }> {
  const { body } = await world.as.O('GET', `${world.tenant.base}/apps/${app}`);
  return { icon_url: body.icon_url, icon_dark_url: body.icon_dark_url };
}

async function signed(app: string, by: Person = world.people.O, type = 'image/png'): Promise<Signed> {
  const path = `${world.tenant.base}/apps/${app}/icon/upload-url`;
  const { status, body } = await by.call('POST', path, { content_type: type });
  expect([status, body.content_type]).toEqual([200, type]);
  return body;
}

async function put(url: string, body: BodyInit, headers: Record<string, string> = {}) {
  const response = await fetch(url, { method: 'PUT', body, headers });
  return { status: response.status, body: (await response.json()) as { code?: string; icon_url?: string } };
}

/** The failure, as exit code and error code. */
async function refusal(args: string[], by: Svc = svc, env: Record<string, string | undefined> = {}) {
  const ran = await by([...words, ...args, '--json'], { env });
  expect(ran.stdout).toBe('');
  return [ran.code, JSON.parse(ran.stderr).code];
}

describe('svc apps sign-icon-upload', () => {
  test.each([
    ['png', 'image/png', png()],
    ['jpg', 'image/jpeg', jpeg()],
    ['webp', 'image/webp', webp()],
    ['gif', 'image/gif', gif()],
  ])('uploads a %s, and its very bytes are served to everybody', async (ending, type, bytes) => {
    const { slug, id } = await ownApp();
    // The content decides, not the file name.
    const file = fileOf(bytes, `icon.${ending === 'png' ? 'txt' : ending}`);
    const ran = await svc([...words, '--app', slug, '--file', file, '--execute', '--json']);
    expect([ran.code, ran.stderr]).toEqual([0, '']);
    const done = ran.json<Uploaded>();
    expect(done).toMatchObject({
      uploaded: true,
      app: slug,
      app_id: id,
      content_type: type,
      variant: 'light',
    });
    expect(await icons(slug)).toEqual({ icon_url: done.icon_url, icon_dark_url: null });
    const response = await fetch(done.icon_url);
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytes);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, type]);
  });

  test('without --execute gets the URL, uploads nothing, and shows what the upload would change', async () => {
    const { slug } = await ownApp();
    const line = [...words, '--app', slug, '--file', fileOf(png())];
    for (const form of [[], ['--dry-run'], ['--dry-run=false'], ['--yes']]) {
      const ran = await svc([...line, ...form, '--json']);
      expect([form, ran.code]).toEqual([form, 0]);
      const { dry_run, ...preview } = ran.json<Signed & { dry_run: true }>();
      expect(dry_run).toBeTrue();
      expect(preview.plan.changes).toEqual([
        { path: 'icon_url', before: null, after: '(assigned on execution)', effect: 'update' },
      ]);
      expect((await fetch(preview.icon_url)).status).toBe(404);
      // The returned URL works.
      expect(preview.put_url).toStartWith(`${preview.icon_url}?token=`);
      expect(Date.parse(preview.expires_at) - Date.now()).toBeWithin(200_000, 301_000);
    }
    expect(await icons(slug)).toEqual({ icon_url: null, icon_dark_url: null });
    const { stdout } = await svc(line);
    expect(stdout).toMatch(/^put_url +http\S+\?token=\S+\n(?:.*\n)*icons\.set: app /);
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/svc apps sign-icon-upload .*--execute$/);
  });

  test('the URL of a dry run accepts the file from any client', async () => {
    const { slug } = await ownApp();
    const preview = (await svc([...words, '--app', slug, '--file', fileOf(gif()), '--json'])).json<Signed>();
    expect((await put(preview.put_url, gif(), { 'content-type': 'image/gif' })).status).toBe(201);
    expect((await icons(slug)).icon_url).toBe(preview.icon_url);
  });

  test('sets the dark icon beside the light one, and a new icon replaces the old one', async () => {
    const { slug } = await ownApp();
    const upload = async (bytes: Uint8Array, ...more: string[]) =>
      (
        await svc([...words, '--app', slug, '--file', fileOf(bytes), ...more, '--execute', '--json'])
      ).json<Uploaded>();
    const light = await upload(png(), '--variant', 'light');
    const dark = await upload(gif(), '--variant=dark');
    expect(dark.variant).toBe('dark');
    expect(await icons(slug)).toEqual({ icon_url: light.icon_url, icon_dark_url: dark.icon_url });
    const newer = await upload(webp());
    expect(newer.icon_url).not.toBe(light.icon_url);
    expect(await icons(slug)).toEqual({ icon_url: newer.icon_url, icon_dark_url: dark.icon_url });
  });

  test('accepts exactly 2 MiB, and refuses one byte more before any request', async () => {
    const { slug } = await ownApp();
    const whole = png({ bytes: iconBytesMax });
    const line = ['--app', slug, '--execute', '--file'];
    const ran = await svc([...words, ...line, fileOf(whole), '--json']);
    expect([ran.code, ran.json<{ size: number }>().size]).toEqual([0, iconBytesMax]);
    const served = await fetch((await icons(slug)).icon_url!);
    expect(Bun.SHA256.hash(await served.arrayBuffer(), 'hex')).toBe(Bun.SHA256.hash(whole, 'hex'));
    const large = fileOf(png({ bytes: iconBytesMax + 1 }));
    expect(await refusal([...line, large], svc, nowhere())).toEqual([7, 'payload_too_large']);
  });

  test('refuses a file that is no icon before any request, whatever its name', async () => {
    const { slug } = await ownApp();
    for (const [bytes, code] of [
      ['<!doctype html><script>alert(1)</script>', 'unsupported_media_type'],
      ['<svg xmlns="http://www.w3.org/2000/svg"/>', 'unsupported_media_type'],
      ['', 'unsupported_media_type'],
      [png({ width: 4097 }), 'validation_failed'],
      [png({ height: 0 }), 'validation_failed'],
      [png().slice(0, 12), 'validation_failed'],
    ] as const) {
      const line = ['--app', slug, '--file', fileOf(bytes), '--execute'];
      expect([bytes, await refusal(line, svc, nowhere())]).toEqual([bytes, [7, code]]);
    }
    for (const file of [join(temporaryFolder(), 'nothing.png'), temporaryFolder()])
      expect((await refusal(['--app', slug, '--file', file], svc, nowhere()))[0]).toBe(2);
  });

  test('exits 2 on wrong usage before any request', async () => {
    const file = fileOf(png());
    for (const line of [
      ['--app', 'shop', '--file', file, '--execute', '--dry-run'],
      ['--file', file],
      ['--app', 'shop'],
      ['--app', 'shop', '--file', file, '--variant', 'blue'],
      ['--app', 'shop', '--file', file, '--content-type', 'image/png'],
      ['--app', 'shop', '--file', file, '--slug', 'shop'],
      ['--pre-create', '--slug', 'shop'],
      ['--pre-create', '--content-type', 'image/png'],
      ['--pre-create', '--slug', 'shop', '--content-type', 'image/svg+xml'],
      ['--pre-create', '--slug', 'shop', '--content-type', 'image/png', '--execute', '--dry-run'],
    ])
      expect([line, await refusal(line, svc, nowhere())]).toEqual([line, [2, 'usage']]);
    const preCreate = ['--pre-create', '--slug', 'shop', '--content-type', 'image/png'];
    expect(await refusal(preCreate, svc, { ...nowhere(), SVC_TENANT: undefined })).toEqual([2, 'usage']);
    expect((await refusal(preCreate, svc, nowhere()))[0]).toBe(12);
  });

  test('exits with the code of each refusal', async () => {
    const { slug } = await ownApp();
    const line = ['--app', slug, '--file', fileOf(png()), '--execute'];
    expect(await refusal(line, as(world.people.M))).toEqual([5, 'not_found']);
    expect(await refusal(line, as(world.people.A))).toEqual([4, 'forbidden']);
    expect(await refusal(line, as(world.people.X))).toEqual([5, 'not_found']);
    expect((await refusal(line, svc, { SVC_TOKEN: 'nonsense' }))[0]).toBe(3);
    expect(await refusal(['--app', 'no-such-app', '--file', fileOf(png())])).toEqual([5, 'not_found']);
    expect((await as(world.people.C)([...words, ...line])).code).toBe(0);
  });

  test('with --plan uploads only if the icon is still the one that was previewed', async () => {
    const { slug } = await ownApp();
    const line = [...words, '--app', slug, '--file', fileOf(png()), '--json'];
    const { plan } = (await svc(line)).json<Signed>();
    const execute = [...line, '--execute', '--plan', plan.fingerprint];
    expect((await svc(execute)).code).toBe(0);
    const after = await icons(slug);
    const stale = await svc(execute);
    expect([stale.code, JSON.parse(stale.stderr).code]).toEqual([15, 'plan_stale']);
    expect(await icons(slug)).toEqual(after);
  });

  test('prints the token only on request', async () => {
    const { slug } = await ownApp();
    const ran = await svc([...words, '--app', slug, '--file', fileOf(png()), '--execute', '--verbose']);
    expect(ran.code).toBe(0);
    expect(ran.stderr).toContain('PUT http');
    const token = /token=([\w.-]+)/.exec(ran.stdout)![1]!;
    expect(ran.stderr).not.toContain(token);
    expect(world.tenant.server.output()).not.toContain(token);
    const { body } = await world.as.A('GET', `${world.tenant.base}/audit?per_page=50`);
    expect(JSON.stringify(body)).not.toContain(token);
  });
});

describe('svc apps sign-icon-upload --pre-create', () => {
  const line = ['--pre-create', '--slug', 'to-be', '--content-type', 'image/png'];

  test('prints an upload URL in both modes, and the app is created with the uploaded icon', async () => {
    const svcOfMember = as(world.people.M);
    const tenant = ['--tenant', world.tenant.slug];
    // Neither counts here.
    const ignored = ['--file', '/nowhere/at-all.png', '--app', 'no-such-app'];
    const dry = await svcOfMember([...words, ...line, ...tenant, ...ignored, '--json']);
    expect([dry.code, dry.json<{ dry_run: boolean }>().dry_run]).toEqual([0, true]);
    for (const flag of ['--file', '--app']) expect(dry.stderr).toContain(`${flag} is ignored`);
    const ran = await svcOfMember([...words, ...line, ...tenant, '--variant', 'dark', '--execute', '--json']);
    expect([ran.code, ran.stderr]).toEqual([0, '']);
    const given = ran.json<Uploaded>();
    expect(given).toMatchObject({
      uploaded: false,
      slug: 'to-be',
      variant: 'dark',
      content_type: 'image/png',
    });
    for (const { icon_url } of [given, dry.json<Signed>()]) expect((await fetch(icon_url)).status).toBe(404);
    expect((await put(given.put_url, png())).body.icon_url).toBe(given.icon_url);
    const created = await world.as.M('POST', `${world.tenant.base}/apps`, {
      name: 'To be',
      slug: `to-be-${Bun.randomUUIDv7().slice(-6)}`,
      icon_dark_url: given.icon_url,
    });
    expect([created.status, created.body.icon_dark_url]).toEqual([201, given.icon_url]);
    expect(new Uint8Array(await (await fetch(given.icon_url)).arrayBuffer())).toEqual(png());
  });

  test('refuses a slug that no app can have: exit 7', async () => {
    for (const slug of ['No Slug', 'icon', 'x'])
      expect(await refusal(['--pre-create', '--slug', slug, '--content-type', 'image/gif'])).toEqual([
        7,
        'validation_failed',
      ]);
  });

  test('is for members of the tenant only', async () => {
    expect(await refusal(line, as(world.people.X))).toEqual([5, 'not_found']);
  });
});

describe('an upload', () => {
  test('is accepted once: a second upload gets 409, and the first stays', async () => {
    const { put_url, icon_url } = await signed((await ownApp()).slug);
    expect((await put(put_url, png())).status).toBe(201);
    for (const bytes of [png(), png({ width: 9 })]) {
      const { status, body } = await put(put_url, bytes);
      expect([status, body.code]).toEqual([409, 'already_uploaded']);
    }
    expect(new Uint8Array(await (await fetch(icon_url)).arrayBuffer())).toEqual(png());
  });

  test('of a removed co-owner is refused, although the URL is older', async () => {
    const { slug } = await ownApp();
    const { put_url } = await signed(slug, world.people.C);
    const coOwner = `${world.tenant.base}/apps/${slug}/co-owners/${world.people.C.id}`;
    expect((await world.as.O('DELETE', coOwner)).status).toBe(204);
    expect((await put(put_url, png())).status).toBe(403);
    expect((await icons(slug)).icon_url).toBeNull();
  });

  test('with other content, a wrong type or size, or without its token is refused', async () => {
    const { slug } = await ownApp();
    const { put_url, icon_url } = await signed(slug);
    for (const [url, body, type, expected] of [
      [put_url, '<!doctype html>', 'image/png', [415, 'unsupported_media_type']],
      [put_url, gif(), 'image/png', [415, 'unsupported_media_type']],
      [put_url, png(), 'text/html', [415, 'unsupported_media_type']],
      [put_url, png({ width: 5000 }), 'image/png', [400, 'validation_failed']],
      [put_url, png({ bytes: iconBytesMax + 1 }), 'image/png', [413, 'payload_too_large']],
      [icon_url, png(), 'image/png', [403, 'forbidden']],
      [`${put_url.slice(0, -2)}xx`, png(), 'image/png', [403, 'forbidden']],
    ] as const) {
      const answer = await put(url, body, { 'content-type': type });
      expect([url, answer.status, answer.body.code]).toEqual([url, ...expected]);
    }
    expect((await icons(slug)).icon_url).toBeNull();
    expect((await put(put_url, png(), { 'content-type': 'image/png' })).status).toBe(201);
  });

  test('that is too large gets 413 also without a content length', async () => {
    const { put_url } = await signed((await ownApp()).slug);
    const url = new URL(put_url);
    const answer = await sendChunked(url, png({ bytes: iconBytesMax + 1 }));
    expect(answer).toContain(' 413 ');
    expect(answer).toContain('"payload_too_large"');
  });
});

describe('an icon', () => {
  test('is cached for ever, has an ETag, and cannot run as a page', async () => {
    const { put_url, icon_url } = await signed((await ownApp()).slug);
    await put(put_url, png());
    const { status, headers, body } = await fetch(icon_url, { method: 'HEAD' });
    expect([status, body]).toEqual([200, null]);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(png().byteLength),
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'access-control-allow-origin': '*',
      etag: `"${Bun.SHA256.hash(png(), 'hex')}"`,
    });
    const again = await fetch(icon_url, { headers: { 'if-none-match': headers.get('etag')! } });
    expect([again.status, await again.text()]).toEqual([304, '']);
    expect(again.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  });

  test('that is unknown gets a 404 that is not cached', async () => {
    for (const id of [Bun.randomUUIDv7(), 'x', '..%2f..%2fetc']) {
      const response = await fetch(`${world.tenant.server.baseUrl}/icons/${id}`);
      const { code } = (await response.json()) as { code: string };
      expect([id, response.status, code]).toEqual([id, 404, 'not_found']);
      expect(response.headers.get('cache-control')).toBe('no-store');
    }
  });
});

/** No server listens here: a command that gets as far as a request exits with 12. */
function nowhere(): Record<string, string> {
  return { SVC_BASE_URL: `http://127.0.0.1:${freePort()}` };
}

/** Sends the request in pieces and returns the complete response. */
function sendChunked({ hostname, port, pathname, search }: URL, bytes: Uint8Array): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({ host: hostname, port: Number(port) });
  let text = '';
  socket.on('data', (data) => {
    text += data.toString('latin1');
    if (text.includes('"request_id"')) socket.destroy();
  });
  socket.on('error', (error) => (text === '' ? reject(error) : resolve(text)));
  socket.on('close', () => resolve(text));
  socket.write(
    `PUT ${pathname}${search} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nTransfer-Encoding: chunked\r\n\r\n`,
  );
  const half = bytes.byteLength >> 1;
  for (const piece of [bytes.subarray(0, half), bytes.subarray(half)]) {
    socket.write(`${piece.byteLength.toString(16)}\r\n`);
    socket.write(piece);
    socket.write('\r\n');
  }
  socket.write('0\r\n\r\n');
  return promise;
}

test('an icon is an uploaded file: URLs of other hosts are refused, and stored ones are not shown', async () => {
  const app = await ownApp();
  const { baseUrl } = world.tenant.server;
  const id = '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b31';
  const outside = [`https://example.test/icons/${id}`, `${baseUrl}.example.test/icons/${id}`];
  for (const icon of [
    ...outside,
    `${baseUrl}/api/v1/me`,
    `${baseUrl}/icons/${id}/../../x`,
    'https://example.test/i.png',
  ]) {
    for (const field of ['icon_url', 'icon_dark_url']) {
      const changed = await world.as.O('PATCH', app.base, { [field]: icon });
      expect([icon, changed.status, changed.body.errors?.[0].field]).toEqual([icon, 400, field]);
      const created = await world.as.O('POST', `${world.tenant.base}/apps`, { name: 'Icon', [field]: icon });
      expect([icon, created.status]).toEqual([icon, 400]);
    }
    const category = await world.as.A('POST', `${world.tenant.base}/categories`, {
      name: 'Icon',
      icon_url: icon,
    });
    expect([icon, category.status]).toEqual([icon, 400]);
  }
  const text = `update svc.apps set icon_url = $2, icon_dark_url = $2 where id = $1`;
  await queryDatabase(world.tenant.server, text, [app.id, 'https://example.test/i.png']);
  const { body } = await world.as.O('GET', app.base);
  expect([body.icon_url, body.icon_dark_url]).toEqual([null, null]);
  const page = await fetch(baseUrl);
  expect(page.headers.get('content-security-policy')).toContain(`img-src 'self' ${baseUrl} data: blob:;`);
});
