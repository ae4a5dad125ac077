import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { freePort } from '../scripts/free-port.ts';
import type { Svc } from './support/commands.ts';
import { fileOf, iconBytesMax, put, type Signed, type Uploaded, useIcons } from './support/icons.ts';
import { gif, jpeg, png, webp } from './support/images.ts';
import { temporaryFolder } from './support/server.ts';

const env = useIcons();

const words = ['apps', 'sign-icon-upload'];

/** The failure, as exit code and error code. */
async function refusal(
  args: string[],
  by: Svc = env.svc,
  variables: Record<string, string | undefined> = {},
) {
  const ran = await by([...words, ...args, '--json'], { env: variables });
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
    const { slug, id } = await env.ownApp();
    // The content decides, not the file name.
    const file = fileOf(bytes, `icon.${ending === 'png' ? 'txt' : ending}`);
    const ran = await env.svc([...words, '--app', slug, '--file', file, '--execute', '--json']);
    expect([ran.code, ran.stderr]).toEqual([0, '']);
    const done = ran.json<Uploaded>();
    expect(done).toMatchObject({
      uploaded: true,
      app: slug,
      app_id: id,
      content_type: type,
      variant: 'light',
    });
    expect(await env.icons(slug)).toEqual({ icon_url: done.icon_url, icon_dark_url: null });
    const response = await fetch(done.icon_url);
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytes);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, type]);
  });

  test('without --execute gets the URL, uploads nothing, and shows what the upload would change', async () => {
    const { slug } = await env.ownApp();
    const line = [...words, '--app', slug, '--file', fileOf(png())];
    for (const form of [[], ['--dry-run'], ['--dry-run=false'], ['--yes']]) {
      const ran = await env.svc([...line, ...form, '--json']);
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
    expect(await env.icons(slug)).toEqual({ icon_url: null, icon_dark_url: null });
    const { stdout } = await env.svc(line);
    expect(stdout).toMatch(/^put_url +http\S+\?token=\S+\n(?:.*\n)*icons\.set: app /);
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/svc apps sign-icon-upload .*--execute$/);
  });

  test('the URL of a dry run accepts the file from any client', async () => {
    const { slug } = await env.ownApp();
    const preview = (
      await env.svc([...words, '--app', slug, '--file', fileOf(gif()), '--json'])
    ).json<Signed>();
    expect((await put(preview.put_url, gif(), { 'content-type': 'image/gif' })).status).toBe(201);
    expect((await env.icons(slug)).icon_url).toBe(preview.icon_url);
  });

  test('sets the dark icon beside the light one, and a new icon replaces the old one', async () => {
    const { slug } = await env.ownApp();
    const upload = async (bytes: Uint8Array, ...more: string[]) =>
      (
        await env.svc([...words, '--app', slug, '--file', fileOf(bytes), ...more, '--execute', '--json'])
      ).json<Uploaded>();
    const light = await upload(png(), '--variant', 'light');
    const dark = await upload(gif(), '--variant=dark');
    expect(dark.variant).toBe('dark');
    expect(await env.icons(slug)).toEqual({ icon_url: light.icon_url, icon_dark_url: dark.icon_url });
    const newer = await upload(webp());
    expect(newer.icon_url).not.toBe(light.icon_url);
    expect(await env.icons(slug)).toEqual({ icon_url: newer.icon_url, icon_dark_url: dark.icon_url });
  });

  test('accepts exactly 2 MiB, and refuses one byte more before any request', async () => {
    const { slug } = await env.ownApp();
    const whole = png({ bytes: iconBytesMax });
    const line = ['--app', slug, '--execute', '--file'];
    const ran = await env.svc([...words, ...line, fileOf(whole), '--json']);
    expect([ran.code, ran.json<{ size: number }>().size]).toEqual([0, iconBytesMax]);
    const served = await fetch((await env.icons(slug)).icon_url!);
    expect(Bun.SHA256.hash(await served.arrayBuffer(), 'hex')).toBe(Bun.SHA256.hash(whole, 'hex'));
    const large = fileOf(png({ bytes: iconBytesMax + 1 }));
    expect(await refusal([...line, large], env.svc, nowhere())).toEqual([7, 'payload_too_large']);
  });

  test('refuses a file that is no icon before any request, whatever its name', async () => {
    const { slug } = await env.ownApp();
    for (const [bytes, code] of [
      ['<!doctype html><script>alert(1)</script>', 'unsupported_media_type'],
      ['<svg xmlns="http://www.w3.org/2000/svg"/>', 'unsupported_media_type'],
      ['', 'unsupported_media_type'],
      [png({ width: 4097 }), 'validation_failed'],
      [png({ height: 0 }), 'validation_failed'],
      [png().slice(0, 12), 'validation_failed'],
    ] as const) {
      const line = ['--app', slug, '--file', fileOf(bytes), '--execute'];
      expect([bytes, await refusal(line, env.svc, nowhere())]).toEqual([bytes, [7, code]]);
    }
    for (const file of [join(temporaryFolder(), 'nothing.png'), temporaryFolder()])
      expect((await refusal(['--app', slug, '--file', file], env.svc, nowhere()))[0]).toBe(2);
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
      expect([line, await refusal(line, env.svc, nowhere())]).toEqual([line, [2, 'usage']]);
    const preCreate = ['--pre-create', '--slug', 'shop', '--content-type', 'image/png'];
    expect(await refusal(preCreate, env.svc, { ...nowhere(), SVC_TENANT: undefined })).toEqual([2, 'usage']);
    expect((await refusal(preCreate, env.svc, nowhere()))[0]).toBe(12);
  });

  test('exits with the code of each refusal', async () => {
    const { slug } = await env.ownApp();
    const line = ['--app', slug, '--file', fileOf(png()), '--execute'];
    expect(await refusal(line, env.as(env.world.people.M))).toEqual([5, 'not_found']);
    expect(await refusal(line, env.as(env.world.people.A))).toEqual([4, 'forbidden']);
    expect(await refusal(line, env.as(env.world.people.X))).toEqual([5, 'not_found']);
    expect((await refusal(line, env.svc, { SVC_TOKEN: 'nonsense' }))[0]).toBe(3);
    expect(await refusal(['--app', 'no-such-app', '--file', fileOf(png())])).toEqual([5, 'not_found']);
    expect((await env.as(env.world.people.C)([...words, ...line])).code).toBe(0);
  });

  test('with --plan uploads only if the icon is still the one that was previewed', async () => {
    const { slug } = await env.ownApp();
    const line = [...words, '--app', slug, '--file', fileOf(png()), '--json'];
    const { plan } = (await env.svc(line)).json<Signed>();
    const execute = [...line, '--execute', '--plan', plan.fingerprint];
    expect((await env.svc(execute)).code).toBe(0);
    const after = await env.icons(slug);
    const stale = await env.svc(execute);
    expect([stale.code, JSON.parse(stale.stderr).code]).toEqual([15, 'plan_stale']);
    expect(await env.icons(slug)).toEqual(after);
  });

  test('prints the token only on request', async () => {
    const { slug } = await env.ownApp();
    const ran = await env.svc([...words, '--app', slug, '--file', fileOf(png()), '--execute', '--verbose']);
    expect(ran.code).toBe(0);
    expect(ran.stderr).toContain('PUT http');
    const token = /token=([\w.-]+)/.exec(ran.stdout)![1]!;
    expect(ran.stderr).not.toContain(token);
    expect(env.world.tenant.server.output()).not.toContain(token);
    const { body } = await env.world.as.A('GET', `${env.world.tenant.base}/audit?per_page=50`);
    expect(JSON.stringify(body)).not.toContain(token);
  });
});

describe('svc apps sign-icon-upload --pre-create', () => {
  const line = ['--pre-create', '--slug', 'to-be', '--content-type', 'image/png'];

  test('prints an upload URL in both modes, and the app is created with the uploaded icon', async () => {
    const svcOfMember = env.as(env.world.people.M);
    const tenant = ['--tenant', env.world.tenant.slug];
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
    const created = await env.world.as.M('POST', `${env.world.tenant.base}/apps`, {
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
    expect(await refusal(line, env.as(env.world.people.X))).toEqual([5, 'not_found']);
  });
});

/** No server listens here: a command that gets as far as a request exits with 12. */
function nowhere(): Record<string, string> {
  return { SVC_BASE_URL: `http://127.0.0.1:${freePort()}` };
}
