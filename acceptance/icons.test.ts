import { describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { queryDatabase } from './support/database.ts';
import { iconBytesMax, put, useIcons } from './support/icons.ts';
import { gif, png } from './support/images.ts';

const env = useIcons();

describe('an upload', () => {
  test('is accepted once: a second upload gets 409, and the first stays', async () => {
    const { put_url, icon_url } = await env.signed((await env.ownApp()).slug);
    expect((await put(put_url, png())).status).toBe(201);
    for (const bytes of [png(), png({ width: 9 })]) {
      const { status, body } = await put(put_url, bytes);
      expect([status, body.code]).toEqual([409, 'already_uploaded']);
    }
    expect(new Uint8Array(await (await fetch(icon_url)).arrayBuffer())).toEqual(png());
  });

  test('of a removed co-owner is refused, although the URL is older', async () => {
    const { slug } = await env.ownApp();
    const { put_url } = await env.signed(slug, env.world.people.C);
    const coOwner = `${env.world.tenant.base}/apps/${slug}/co-owners/${env.world.people.C.id}`;
    expect((await env.world.as.O('DELETE', coOwner)).status).toBe(204);
    expect((await put(put_url, png())).status).toBe(403);
    expect((await env.icons(slug)).icon_url).toBeNull();
  });

  test('with other content, a wrong type or size, or without its token is refused', async () => {
    const { slug } = await env.ownApp();
    const { put_url, icon_url } = await env.signed(slug);
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
    expect((await env.icons(slug)).icon_url).toBeNull();
    expect((await put(put_url, png(), { 'content-type': 'image/png' })).status).toBe(201);
  });

  test('that is too large gets 413 also without a content length', async () => {
    const { put_url } = await env.signed((await env.ownApp()).slug);
    const url = new URL(put_url);
    const answer = await sendChunked(url, png({ bytes: iconBytesMax + 1 }));
    expect(answer).toContain(' 413 ');
    expect(answer).toContain('"payload_too_large"');
  });
});

describe('an icon', () => {
  test('is cached for ever, has an ETag, and cannot run as a page', async () => {
    const { put_url, icon_url } = await env.signed((await env.ownApp()).slug);
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
      const response = await fetch(`${env.world.tenant.server.baseUrl}/icons/${id}`);
      const { code } = (await response.json()) as { code: string };
      expect([id, response.status, code]).toEqual([id, 404, 'not_found']);
      expect(response.headers.get('cache-control')).toBe('no-store');
    }
  });
});

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
  const app = await env.ownApp();
  const { baseUrl } = env.world.tenant.server;
  const id = '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b31';
  const outside = [`https://example.test/icons/${id}`, `${baseUrl}.example.test/icons/${id}`];
  for (const icon of [
    ...outside,
    `${baseUrl}/api/v1/me`,
    `${baseUrl}/icons/${id}/../../x`,
    'https://example.test/i.png',
  ]) {
    for (const field of ['icon_url', 'icon_dark_url']) {
      const changed = await env.world.as.O('PATCH', app.base, { [field]: icon });
      expect([icon, changed.status, changed.body.errors?.[0].field]).toEqual([icon, 400, field]);
      const created = await env.world.as.O('POST', `${env.world.tenant.base}/apps`, {
        name: 'Icon',
        [field]: icon,
      });
      expect([icon, created.status]).toEqual([icon, 400]);
    }
    const category = await env.world.as.A('POST', `${env.world.tenant.base}/categories`, {
      name: 'Icon',
      icon_url: icon,
    });
    expect([icon, category.status]).toEqual([icon, 400]);
  }
  const text = `update svc.apps set icon_url = $2, icon_dark_url = $2 where id = $1`;
  await queryDatabase(env.world.tenant.server, text, [app.id, 'https://example.test/i.png']);
  const { body } = await env.world.as.O('GET', app.base);
  expect([body.icon_url, body.icon_dark_url]).toEqual([null, null]);
  const page = await fetch(baseUrl);
  expect(page.headers.get('content-security-policy')).toContain(`img-src 'self' ${baseUrl} data: blob:;`);
});
