import { expect, test } from 'bun:test';
import { visibilities } from '@svc/contract/apps.ts';
import { sql } from 'kysely';
import { patientMs } from '../../../../scripts/patience.ts';
import {
  loginHeaders,
  msUntilRefused,
  patHeaders,
  type ServerCopy,
  useServer,
} from '../../identity/provider/testing.ts';
import { newTenant, newUser } from '../../testing.ts';
import { newApp, startAppServer } from './testing.ts';

const { database, server } = useServer(startAppServer);

async function world() {
  const { tenant, admin, member } = await newTenant(database.db);
  const [owner, coOwner] = [await newUser(database.db, tenant.id), await newUser(database.db, tenant.id)];
  const people = { admin, member, owner, coOwner };
  const logins = {
    admin: await loginHeaders(database, admin),
    member: await loginHeaders(database, member),
    owner: await loginHeaders(database, owner),
    coOwner: await loginHeaders(database, coOwner),
  };
  return { tenant, people, logins, path: `/api/v1/tenants/${tenant.slug}/apps` };
}

test('the creator owns the app, and it is private', async () => {
  const { tenant, people, logins, path } = await world();
  const { status, body } = await server.call(logins.member, 'POST', path, { name: 'Pet Shop (EU)' });
  expect(status).toBe(201);
  expect(body).toMatchObject({
    tenant_id: tenant.id,
    slug: 'pet-shop-eu',
    name: 'Pet Shop (EU)',
    owner_id: people.member.userId,
    visibility: 'private',
  });
  for (const ref of [body.slug, body.id, body.id.toUpperCase()])
    expect(await server.call(logins.member, 'GET', `${path}/${ref}`)).toEqual({
      status: 200,
      body: {
        ...body,
        url: null,
        relation: 'owner',
        owner_name: expect.stringMatching(/./),
        owner_email: people.member.email,
      },
    });
  const audit = await server.call(logins.admin, 'GET', `/api/v1/tenants/${tenant.slug}/audit`);
  expect(audit.body.items).toMatchObject([
    { action: 'apps.create', target: { kind: 'app', id: body.id, name: 'pet-shop-eu' } },
  ]);
});

test('a slug is unique per tenant, also among apps that the caller cannot see', async () => {
  const { logins, path } = await world();
  const elsewhere = await world();
  const body = { name: 'Shop', slug: 'shop' };
  expect((await server.call(logins.owner, 'POST', path, body)).status).toBe(201);
  const again = await server.call(logins.member, 'POST', path, { name: 'SHOP' });
  expect([again.status, again.body.code, again.body.errors[0].field]).toEqual([409, 'slug_taken', 'slug']);
  expect((await server.call(elsewhere.logins.owner, 'POST', elsewhere.path, body)).status).toBe(201);
});

test('of concurrent requests for one slug, one succeeds', async () => {
  const { logins, path } = await world();
  const answers = await Promise.all(
    Object.values(logins).map((login) => server.call(login, 'POST', path, { name: 'Race' })),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
});

test('a name without a usable slug requires one, and a slug like an id is refused', async () => {
  const { logins, path } = await world();
  for (const body of [
    { name: '商店' },
    { name: 'abcdef01-0000-7000-8000-000000000000' },
    { name: 'Shop', slug: 'abcdef01-0000-7000-8000-000000000000' },
    { name: 'Shop', slug: 'Shop' },
    { name: ' ' },
  ]) {
    const { status, body: answer } = await server.call(logins.owner, 'POST', path, body);
    expect([body, status, answer.code]).toEqual([body, 400, 'validation_failed']);
  }
});

test('a list contains the apps that the caller can get, for every visibility and relation', async () => {
  const { tenant, people, logins, path } = await world();
  const apps = new Map<string, { id: string; slug: string }>();
  for (const visibility of visibilities) {
    apps.set(
      visibility,
      await newApp(database.db, tenant, people.owner, { visibility, coOwners: [people.coOwner] }),
    );
  }
  const gone = await newApp(database.db, tenant, people.owner, { visibility: 'public' });
  await sql`update svc.apps set record = 'deleted' where id = ${gone.id}`.execute(database.db);

  const all = [...visibilities];
  const seen = { owner: all, coOwner: all, admin: all, member: ['public', 'internet'] as typeof all };
  for (const who of ['owner', 'coOwner', 'admin', 'member'] as const) {
    const listed = await server.call(logins[who], 'GET', path);
    const slugs = seen[who].map((visibility) => apps.get(visibility)!.slug).sort();
    expect([who, listed.body.total, listed.body.items.map(({ slug }: { slug: string }) => slug)]).toEqual([
      who,
      slugs.length,
      slugs,
    ]);
    for (const [visibility, { id }] of apps) {
      const expected = seen[who].some((it) => it === visibility) ? 200 : 404;
      const { status } = await server.call(logins[who], 'GET', `${path}/${id}`);
      expect([who, visibility, status]).toEqual([who, visibility, expected]);
    }
    const { status } = await server.call(logins[who], 'GET', `${path}/${gone.slug}`);
    expect([who, status]).toEqual([who, who === 'owner' || who === 'admin' ? 200 : 404]);
    const deleted = await server.call(logins[who], 'GET', `${path}?deleted=true`);
    expect([who, deleted.body.total]).toEqual([who, status === 200 ? 1 : 0]);
  }
  const second = await server.call(logins.owner, 'GET', `${path}?per_page=3&page=2`);
  expect(second.body).toMatchObject({ page: 2, per_page: 3, total: 4 });
  expect(second.body.items).toHaveLength(1);
});

test('an invisible app cannot be distinguished from a missing one', async () => {
  const { tenant, people, logins, path } = await world();
  const app = await newApp(database.db, tenant, people.owner);
  const paths = (ref: string) => [
    ['GET', `${path}/${ref}`],
    ['GET', `${path}/${ref}/co-owners`],
    ['POST', `${path}/${ref}/co-owners`, { user_id: people.member.userId }],
    ['POST', `${path}/${ref}/co-owners?dry_run=true`, {}],
    ['DELETE', `${path}/${ref}/co-owners/${people.member.userId}`],
  ];
  const ask = async (ref: string) => {
    const answers = [];
    for (const [method, address, body] of paths(ref))
      answers.push(await server.call(logins.member, String(method), String(address), body));
    return answers;
  };
  const hidden = await ask(app.slug);
  expect(hidden.map(({ status, body }) => `${status} ${body.code}`)).toEqual(
    paths('').map(() => '404 not_found'),
  );
  for (const ref of [app.id, 'no-such-app', Bun.randomUUIDv7(), 'No App', '%00'])
    expect([ref, await ask(ref)]).toEqual([ref, hidden]);
});

test('a visible app of others answers 403 to what only owners can do', async () => {
  const { tenant, people, logins, path } = await world();
  const app = await newApp(database.db, tenant, people.owner, {
    visibility: 'public',
    coOwners: [people.coOwner],
  });
  const owners = `${path}/${app.slug}/co-owners`;
  const code = async (...call: Parameters<ServerCopy['call']>) => (await server.call(...call)).body.code;
  expect(await code(logins.member, 'GET', owners)).toBe('forbidden');
  expect(await code(logins.member, 'DELETE', `${owners}/${people.coOwner.userId}`)).toBe('forbidden');
  for (const who of ['member', 'coOwner', 'admin'] as const)
    expect(await code(logins[who], 'POST', owners, { user_id: people.member.userId })).toBe('forbidden');
});

test('a slug has one spelling, also with a warm cache', async () => {
  const { logins, path } = await world();
  await server.call(logins.owner, 'POST', path, { name: 'Casey', slug: 'casey' });
  for (const [ref, status] of [
    ['CASEY', 404],
    ['casey', 200],
    ['CASEY', 404],
  ] as const)
    expect([ref, (await server.call(logins.owner, 'GET', `${path}/${ref}`)).status]).toEqual([ref, status]);
});

test('an app is not found through another tenant, even by a member of both', async () => {
  const { tenant, people } = await world();
  const elsewhere = await world();
  await sql`insert into svc.memberships (tenant_id, user_id, role, created_at)
    values (${elsewhere.tenant.id}, ${people.owner.userId}, 'tenant_admin', now())`.execute(database.db);
  const app = await newApp(database.db, tenant, people.owner);
  const login = await loginHeaders(database, people.owner);
  expect((await server.call(login, 'GET', `${elsewhere.path}/${app.id}`)).status).toBe(404);
  expect((await server.call(login, 'GET', elsewhere.path)).body.total).toBe(0);
});

test('a token can be limited to apps that its issuer sees, by id, and cannot list apps', async () => {
  const { tenant, people, logins, path } = await world();
  const own = await newApp(database.db, tenant, people.owner);
  const hidden = await newApp(database.db, tenant, people.coOwner);
  const pats = `/api/v1/tenants/${tenant.slug}/pats`;
  const create = (...apps: string[]) => server.call(logins.owner, 'POST', pats, { name: 'ci', apps });
  expect((await create(own.slug, own.id, own.id.toUpperCase())).body.apps).toEqual([own.id]);
  const refused = await create(own.slug, hidden.slug, 'no-such-app');
  expect([refused.status, refused.body.code]).toEqual([400, 'validation_failed']);
  expect(refused.body.errors).toEqual(
    [hidden.slug, 'no-such-app'].map((ref) => ({
      field: 'apps',
      code: 'unknown_app',
      detail: `no such app: ${ref}`,
    })),
  );
  const pat = await patHeaders(server, logins.owner, tenant.slug);
  expect((await server.call(pat.headers, 'GET', path)).body.code).toBe('login_required');
});

test('a new admin sees every app at once, and a former admin does not', async () => {
  const { tenant, people, logins, path } = await world();
  const app = await newApp(database.db, tenant, people.owner);
  const member = `/api/v1/tenants/${tenant.slug}/members/${people.member.userId}`;
  const sees = async () => (await server.call(logins.member, 'GET', `${path}/${app.slug}`)).status === 200;
  const become = (role: string) => server.call(logins.admin, 'PUT', member, { role });
  expect(await sees()).toBe(false);
  expect((await become('tenant_admin')).status).toBe(200);
  expect(await msUntilRefused([async () => !(await sees())])).toBeLessThan(patientMs(1_000));
  expect((await become('tenant_member')).status).toBe(200);
  expect(await msUntilRefused([sees])).toBeLessThan(patientMs(1_000));
});
