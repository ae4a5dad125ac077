import { describe, expect, test } from 'bun:test';
import { exchange } from '../server/src/http/raw-http/testing.ts';
import { admin } from './support/commands.ts';
import { newTenant, type Person } from './support/people.ts';
import { sharedServer } from './support/server.ts';

describe('odd input', () => {
  test('NUL and lone surrogates are refused in every text field, and the audit chain stays valid', async () => {
    const t = await newTenant();
    const made = await t.admin.call('POST', `${t.base}/connectors`, { name: 'odd', kind: 'http' });
    const grant = { subject_id: t.member.id, connector_id: made.body.id, preset_id: 'reader' };
    for (const odd of ['a\\u0000b', 'a\\ud800b']) {
      const bodies: [string, unknown][] = [
        ['connectors', { name: 'ODD', kind: 'http' }],
        ['presets', { name: 'odd', actions: ['read'], description: 'ODD' }],
        ['grants', { ...grant, subject_id: 'ODD' }],
        ['grants', { ...grant, connector_id: 'ODD' }],
        ['grants', { ...grant, reason: 'ODD' }],
        ['access-policies', { name: 'ODD' }],
        ['access-policies', { name: 'p', masks: [{ column: 'c', kind: 'constant', args: { text: 'ODD' } }] }],
        ['pats', { name: 'ODD' }],
      ];
      for (const [noun, body] of bodies) {
        const text = JSON.stringify(body).replaceAll('ODD', odd);
        const answer = await t.admin.call('POST', `${t.base}/${noun}`, text);
        expect([text, answer.status, answer.body.code]).toEqual([text, 400, 'validation_failed']);
      }
    }
    expect((await t.admin.call('GET', `${t.base}/connectors/%00`)).status).toBe(404);
    expect((await t.admin.call('GET', `${t.base}/grants?subject_id=a%00`)).status).toBe(400);
    expect((await t.admin.call('GET', '/api/v1/tenants/a%00/me/grants')).status).toBe(403);
    expect(await admin<{ ok: boolean }>(t.server, ['doctor'])).toMatchObject({ ok: true });
  });

  test('control, invisible and text-direction characters are refused in names, and the error names the field', async () => {
    const t = await newTenant();
    const app = await t.member.call('POST', `${t.base}/apps`, { name: 'Plain' });
    const category = await t.admin.call('POST', `${t.base}/categories`, { name: 'Plain' });
    const connector = await t.admin.call('POST', `${t.base}/connectors`, { name: 'Plain', kind: 'http' });
    const files = [{ path: 'index.html', sha256: '0'.repeat(64), size: 1 }];
    const calls: [Person, string, string, object, string][] = [
      [t.member, 'POST', 'apps', {}, 'name'],
      [t.member, 'PATCH', `apps/${app.body.id}`, {}, 'name'],
      [t.member, 'PATCH', `apps/${app.body.id}`, {}, 'cost_center'],
      [t.member, 'POST', `apps/${app.body.id}/static/releases`, { files }, 'version'],
      [t.member, 'POST', 'bootstraps', {}, 'name'],
      [t.member, 'POST', 'forks', { source: app.body.id }, 'name'],
      [t.member, 'POST', 'pats', {}, 'name'],
      [t.admin, 'PATCH', '', {}, 'name'],
      [t.admin, 'POST', 'categories', {}, 'name'],
      [t.admin, 'PATCH', `categories/${category.body.id}`, {}, 'name'],
      [t.admin, 'POST', 'connectors', { kind: 'http' }, 'name'],
      [t.admin, 'PATCH', `connectors/${connector.body.id}`, {}, 'name'],
      [t.admin, 'POST', 'access-policies', {}, 'name'],
      [t.admin, 'POST', 'templates', { repo: 'a/b' }, 'name'],
    ];
    for (const odd of [
      'a\u001b[2Jb',
      'a\u0085b',
      'a\u202eb',
      'a\u2066b',
      'a\u061cb',
      'a\u200bb',
      'a\u2028b',
    ]) {
      for (const [person, method, path, body, field] of calls) {
        const answer = await person.call(method, `${t.base}${path && `/${path}`}`, { ...body, [field]: odd });
        const fields = answer.body.errors?.map((error: { field: string }) => error.field);
        const expected = [path, 400, 'validation_failed', expect.arrayContaining([field])];
        expect([path, answer.status, answer.body.code, fields]).toEqual(expected);
      }
      for (const args of [
        ['users', 'create', `u-${Bun.randomUUIDv7()}@example.test`, '--name', odd],
        ['tenants', 'create', `t-${Bun.randomUUIDv7().slice(-12)}`, '--name', odd],
      ])
        await expect(admin(t.server, args)).rejects.toThrow('name');
    }
  });

  test('an unknown query parameter is refused, whatever its name', async () => {
    const t = await newTenant();
    for (const name of ['__proto__', 'constructor', 'toString', 'colour']) {
      const answer = await t.admin.call('GET', `${t.base}/grants?${name}=1`);
      expect([name, answer.status, answer.body.code]).toEqual([name, 400, 'unknown_parameter']);
    }
  });

  test('a slug in the form of an id is refused', async () => {
    const t = await newTenant();
    const slug = 'abcdef12-1234-7abc-8abc-abcdef123456';
    const answer = await t.admin.call('POST', `${t.base}/connectors`, { name: 'x', slug, kind: 'http' });
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
  });

  test('a malformed or missing Host header gets a response with a request id and no 5xx status', async () => {
    const { port } = await sharedServer();
    for (const head of [
      'GET /healthz HTTP/1.1\r\nHost: [',
      'GET /healthz HTTP/1.1\r\nHost: a b',
      'GET /healthz HTTP/1.0',
    ]) {
      const answer = await exchange(port, `${head}\r\nConnection: close\r\n\r\n`);
      expect([head, Number(answer.split(' ')[1]) < 500]).toEqual([head, true]);
      expect([head, /^x-request-id: /im.test(answer) || answer.startsWith('HTTP/1.1 400')]).toEqual([
        head,
        true,
      ]);
    }
  });
});
