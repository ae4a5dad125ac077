import { describe, expect, test } from 'bun:test';
import { searchHitsMax } from '@svc/contract/app-lists.ts';
import { sql } from 'kysely';
import { loginHeaders, useServer } from '../../identity/provider/testing.ts';
import { newTenant, newUser } from '../../testing.ts';
import { startAppServer } from './testing.ts';

const { database, server } = useServer(startAppServer);

interface Wanted {
  slug: string;
  name?: string;
  summary?: string;
  description?: string;
  set?: Record<string, string | boolean | null>;
}

async function world() {
  const { tenant, admin, member } = await newTenant(database.db);
  const owner = await newUser(database.db, tenant.id);
  const logins = {
    admin: await loginHeaders(database, admin),
    owner: await loginHeaders(database, owner),
    member: await loginHeaders(database, member),
  };
  const path = `/api/v1/tenants/${tenant.slug}`;
  const get = (who: keyof typeof logins, rest: string) => server.call(logins[who], 'GET', path + rest);
  const slugs = async (who: keyof typeof logins, rest: string): Promise<string[]> => {
    const { status, body } = await get(who, rest);
    if (status !== 200) throw new Error(`${rest}: ${status} ${body.code}`);
    return body.items.map(({ slug }: { slug: string }) => slug);
  };
  const make = async (...wanted: Wanted[]) => {
    for (const { slug, name = slug, set = {}, ...texts } of wanted) {
      const made = await server.call(logins.owner, 'POST', `${path}/apps`, { slug, name, ...texts });
      if (made.status !== 201) throw new Error(JSON.stringify(made.body));
      for (const [column, value] of Object.entries(set)) {
        await sql`update svc.apps set ${sql.ref(column)} = ${value} where id = ${made.body.id}`.execute(
          database.db,
        );
      }
    }
  };
  const idOf = async (slug: string) => (await get('admin', `/apps/${slug}`)).body.id as string;
  return { tenant, admin, owner, member, get, slugs, make, idOf };
}

describe('filters', () => {
  test('select by status, operating status, review status, visibility and category; a list means any of them', async () => {
    const { make, slugs, tenant } = await world();
    const category = Bun.randomUUIDv7();
    await sql`insert into svc.categories (id, tenant_id, slug, name, created_at, updated_at)
      values (${category}, ${tenant.id}, 'tools', 'Tools', now(), now())`.execute(database.db);
    await make(
      { slug: 'draft' },
      { slug: 'deployed', set: { is_deployed: true, category_id: category } },
      { slug: 'live', set: { is_deployed: true, visibility: 'public', review_status: 'approved' } },
      { slug: 'archived', set: { record: 'archived', review_status: 'rejected' } },
    );
    const cases: [string, string[]][] = [
      ['status=draft', ['draft']],
      ['status=deployed', ['deployed', 'live']],
      ['status=archived', ['archived']],
      ['status=draft&status_in=archived', ['archived', 'draft']],
      ['operating_status=live', ['live']],
      ['operating_status=dev', ['deployed', 'draft']],
      ['operating_status_in=live,archived', ['archived', 'live']],
      ['review_status=approved', ['live']],
      ['review_status_in=approved,rejected', ['archived', 'live']],
      ['review_status=never-heard-of', []],
      ['visibility=public', ['live']],
      ['category_id=tools', ['deployed']],
      [`category_id=${category}`, ['deployed']],
      ['category_id=no-such', []],
      ['sort=-slug', ['live', 'draft', 'deployed', 'archived']],
      ['sort=created_at', ['draft', 'deployed', 'live', 'archived']],
      ['sort=-created_at&status=deployed', ['live', 'deployed']],
    ];
    for (const [query, expected] of cases)
      expect([query, await slugs('owner', `/apps?${query}`)]).toEqual([query, expected]);
  });

  test('with unknown names or values are refused', async () => {
    const { get } = await world();
    const refused = [
      'status=gone',
      'sort=owner',
      'sort=relevance',
      'operating_status_in=live,gone',
      'visibility=all',
      'per_page=201',
      'page=0',
      'colour=red',
      'q=',
      'cursor=nonsense',
      'operating_status_in=',
      `q=${'x'.repeat(201)}`,
    ];
    for (const query of refused)
      expect([query, (await get('owner', `/apps?${query}`)).status]).toEqual([query, 400]);
    for (const query of ['created_within_days=0', 'created_within_days=3651', 'created_within_days=1.5'])
      expect([query, (await get('owner', `/apps/discover?${query}`)).status]).toEqual([query, 400]);
    expect((await get('owner', '/apps/search')).status).toBe(400);
  });
});

describe('pages', () => {
  test('by cursor contain every app once while apps are created and deleted', async () => {
    const { make, get } = await world();
    const original = Array.from({ length: 12 }, (_, at) => `app-${String(at).padStart(2, '0')}`);
    await make(...original.map((slug) => ({ slug, name: 'Same name for all' })));
    for (const sort of ['slug', '-slug', 'name', '-name', 'created_at', '-created_at', '-updated_at']) {
      const seen: string[] = [];
      let cursor: string | null = null;
      let round = 0;
      do {
        const query: string = `per_page=5&sort=${sort}${cursor ? `&cursor=${cursor}` : ''}`;
        const { status, body } = await get('owner', `/apps?${query}`);
        expect(status).toBe(200);
        seen.push(...body.items.map(({ slug }: { slug: string }) => slug));
        cursor = body.next_cursor;
        await make({ slug: `new${sort.replace('-', 'down').replace('_', '')}${round++}` });
      } while (cursor);
      const once = seen.filter((slug) => slug.startsWith('app-'));
      expect([sort, [...once].sort()]).toEqual([sort, original]);
    }
  });

  test('refuse a cursor of another sort order, another tenant, or a forged one', async () => {
    const [one, other] = [await world(), await world()];
    await one.make({ slug: 'a1' }, { slug: 'a2' });
    const { next_cursor: cursor } = (await one.get('owner', '/apps?per_page=1')).body;
    expect((await one.get('owner', `/apps?per_page=1&cursor=${cursor}`)).status).toBe(200);
    for (const search of [`/apps?page=2&cursor=${cursor}`, `/apps/search?q=a&page=1&cursor=${cursor}`]) {
      const both = await one.get('owner', search);
      expect([search, both.status, both.body.errors?.[0]?.field]).toEqual([search, 400, 'cursor']);
    }
    for (const { body } of [
      await one.get('owner', `/apps?sort=-slug&cursor=${cursor}`),
      await other.get('owner', `/apps?cursor=${cursor}`),
      await one.get('owner', `/apps/search?q=a&cursor=${cursor}`),
      await one.get('owner', `/apps?q=a&cursor=${cursor}`),
    ])
      expect([body.status, body.code]).toEqual([400, 'invalid_cursor']);
  });

  test('refuse a forged sort key before querying the database', async () => {
    const { get, tenant } = await world();
    const times = [
      'x',
      '2024-02-30T00:00:00.000000Z',
      '2024-13-45T99:99:99.000000Z',
      '0000-01-01T00:00:00.000000Z',
      '2024-01-01 00:00:00+00',
      '2024-01-01T24:00:00.000000Z',
      '',
    ];
    const ranks = ['1e-400', '0b1', '0o7', 'NaN', 'Infinity', '-1', '', '1'.repeat(400)];
    const cases = [
      ...times.map((key) => ['sort=created_at', 'created_at', '', key]),
      ...ranks.map((key) => ['q=a', 'relevance', 'a', key]),
      ['sort=slug', 'slug', '', 'a\u0000'],
      ['sort=name', 'name', '', '\ud800'],
    ];
    for (const [query, sort, q, key] of cases) {
      const hash = new Bun.CryptoHasher('sha256').update(q!).digest('hex');
      const forged = JSON.stringify([tenant.id, sort, hash, key, Bun.randomUUIDv7()]);
      const cursor = Buffer.from(forged).toString('base64url');
      const { status, body } = await get('owner', `/apps?${query}&cursor=${cursor}`);
      expect([key, status, body.code]).toEqual([key!, 400, 'invalid_cursor']);
    }
  });

  test('work with the longest search words and names', async () => {
    const { make, get } = await world();
    const name = '\u{1d518}'.repeat(95);
    await make({ slug: 'n1', name }, { slug: 'n2', name });
    const search = `/apps/search?sort=name&limit=1&q=${encodeURIComponent(name)}`;
    const first = await get('owner', search);
    const second = await get('owner', `${search}&cursor=${first.body.next_cursor}`);
    expect([first.body.items.length, second.status, second.body.items.length]).toEqual([1, 200, 1]);
  });
});

describe('a search', () => {
  const apps: Wanted[] = [
    { slug: 'pet-shop', name: 'Pet Shop', summary: 'Everything for animals' },
    { slug: 'pets-hotel', name: 'Hotel for pets' },
    { slug: 'invoices', name: 'Invoices', description: 'Where the pet food is paid for' },
    { slug: 'straße', name: 'Straßenverzeichnis' },
    { slug: 'weather', name: 'Weather' },
  ].map((app) => ({ ...app, slug: app.slug.replace('ß', 'ss') }));

  test('finds by word, prefix and description in any case, best match first', async () => {
    const { make, slugs } = await world();
    await make(...apps);
    const cases: [string, string[]][] = [
      ['pet shop', ['pet-shop']],
      ['PET', ['pet-shop', 'pets-hotel', 'invoices']],
      ['anim', ['pet-shop']],
      ['food', ['invoices']],
      ['straßen', ['strasse']],
      ['weather', ['weather']],
      ['zzzz', []],
      ['---', []],
      ["'; drop table svc.apps; --", []],
      ['a & b | !c <-> (d:*', []],
    ];
    for (const [q, expected] of cases)
      expect([q, await slugs('owner', `/apps/search?q=${encodeURIComponent(q)}`)]).toEqual([q, expected]);
  });

  test('tolerates typing errors, in any alphabet', async () => {
    const { make, slugs } = await world();
    await make(...apps, { slug: 'moskva', name: 'Москва' }, { slug: 'privet', name: 'Привет' });
    for (const [q, first] of [
      ['pet shp', 'pet-shop'],
      ['wether', 'weather'],
      ['масква', 'moskva'],
      ['ПРЕВЕТ', 'privet'],
      ['invioces', 'invoices'],
      ['hotl', 'pets-hotel'],
      ['petshop', 'pet-shop'],
    ])
      expect([q, (await slugs('owner', `/apps/search?q=${encodeURIComponent(q!)}`))[0]]).toEqual([q!, first]);
  });

  test('lists an exact name match before any number of other matches', async () => {
    const { make, get, slugs, tenant, owner } = await world();
    await sql`insert into svc.apps (id, tenant_id, slug, name, description, owner_id, owner_since, created_at, updated_at)
      select gen_random_uuid(), ${tenant.id}, 'filler-' || n, 'Filler ' || n, 'a kiosk of sorts', ${owner.userId}, now(), now(), now()
      from generate_series(1, ${searchHitsMax + 20}::int) n`.execute(database.db);
    await make({ slug: 'kiosk', name: 'Kiosk' }, { slug: 'kiosk-two', name: 'My Kiosk' });
    expect((await slugs('owner', '/apps/search?q=kiosk')).slice(0, 2)).toEqual(['kiosk', 'kiosk-two']);
    expect((await slugs('owner', '/apps?q=KIOSK')).slice(0, 2)).toEqual(['kiosk', 'kiosk-two']);
    const { body } = await get('owner', '/apps?q=kiosk');
    expect([body.total >= searchHitsMax, body.capped]).toEqual([true, true]);
    expect((await get('owner', '/apps?q=two')).body.capped).toBeUndefined();
  });

  test('hides invisible apps, in its results and its totals', async () => {
    const { make, get, slugs } = await world();
    await make(
      { slug: 'pet-public', name: 'Pet one', set: { visibility: 'public' } },
      { slug: 'pet-secret', name: 'Pet two' },
    );
    expect(await slugs('owner', '/apps/search?q=pet')).toHaveLength(2);
    expect(await slugs('admin', '/apps/search?q=pet')).toHaveLength(2);
    const { body } = await get('member', '/apps/search?q=pet&limit=1');
    expect([body.items.map((app: { slug: string }) => app.slug), body.next_cursor]).toEqual([
      ['pet-public'],
      null,
    ]);
    for (const path of ['/apps?q=pet', '/apps/discover?q=pet'])
      expect((await get('member', path)).body).toMatchObject({ total: 1 });
  });

  test('pages by cursor in order of relevance, and prefers limit to per_page', async () => {
    const { make, get } = await world();
    await make(
      ...Array.from({ length: 7 }, (_, at) => ({ slug: `pet-${at}`, name: `Pet ${'pet '.repeat(at)}` })),
    );
    const all = (await get('owner', '/apps/search?q=pet')).body.items;
    const paged: unknown[] = [];
    let cursor = '';
    for (let page = 0; page < 3; page++) {
      const { body } = await get('owner', `/apps/search?q=pet&limit=3&per_page=1${cursor}`);
      paged.push(...body.items);
      cursor = `&cursor=${body.next_cursor}`;
      expect(body.next_cursor === null).toBe(page === 2);
    }
    expect(paged).toEqual(all);
  });
});

describe('discover', () => {
  test('shows active apps that are open to the caller, ignoring the admin role', async () => {
    const { get, make, slugs, idOf, member } = await world();
    await make(
      { slug: 'mine' },
      { slug: 'open', set: { visibility: 'public' } },
      { slug: 'world', set: { visibility: 'internet' } },
      { slug: 'invited', set: { visibility: 'invite_only' } },
      { slug: 'shut', set: { visibility: 'public', record: 'archived' } },
    );
    await sql`insert into svc.app_members (app_id, user_id, added_by, created_at)
      values (${await idOf('invited')}, ${member.userId}, ${member.userId}, now())`.execute(database.db);
    const sorted = async (who: 'admin' | 'owner' | 'member') => (await slugs(who, '/apps/discover')).sort();
    expect(await sorted('admin')).toEqual(['open', 'world']);
    expect(await sorted('member')).toEqual(['invited', 'open', 'world']);
    expect(await sorted('owner')).toEqual(['invited', 'open', 'world']);
    await sql`update svc.apps set created_at = now() - interval '10 days' where id = ${await idOf('open')}`.execute(
      database.db,
    );
    expect(await slugs('admin', '/apps/discover?created_within_days=9')).toEqual(['world']);
    expect(await slugs('admin', '/apps/discover?limit=1&per_page=5')).toEqual(['world']);
    const { items } = (await get('admin', '/apps/discover?limit=1')).body;
    expect(items).toMatchObject([{ slug: 'world', owner_name: 'Someone' }]);
  });
});

describe('own apps', () => {
  test("are listed as owned, received, or both, with the caller's relation", async () => {
    const { make, get, idOf, member, owner } = await world();
    await make(
      { slug: 'co' },
      { slug: 'inv', set: { visibility: 'invite_only' } },
      { slug: 'closed' },
      { slug: 'own' },
    );
    await sql`insert into svc.app_co_owners (app_id, user_id, added_by, created_at)
      values (${await idOf('co')}, ${member.userId}, ${owner.userId}, now())`.execute(database.db);
    for (const slug of ['inv', 'closed']) {
      await sql`insert into svc.app_members (app_id, user_id, added_by, created_at)
        values (${await idOf(slug)}, ${member.userId}, ${owner.userId}, now())`.execute(database.db);
    }
    await sql`update svc.apps set owner_id = ${member.userId} where id = ${await idOf('own')}`.execute(
      database.db,
    );
    const lists: [string, string[]][] = [
      ['/me/apps', ['co co_owner', 'own owner']],
      ['/me/apps/owned', ['own owner']],
      ['/me/apps/received', ['co co_owner', 'inv member']],
      ['/me/apps/workspace', ['co co_owner', 'inv member', 'own owner']],
    ];
    for (const [path, expected] of lists) {
      const { body } = await get('member', path);
      const shown = body.items.map(
        (app: { slug: string; relation: string }) => `${app.slug} ${app.relation}`,
      );
      expect([path, body.total, shown]).toEqual([path, expected.length, expected]);
    }
  });
});

describe('availability', () => {
  test('reports free, taken, reserved and invalid names, with suggestions', async () => {
    const { make, get } = await world();
    const name = `n-${Bun.randomUUIDv7().slice(-12)}`;
    await make({ slug: name });
    const ask = async (query: string) => (await get('member', `/apps/availability?${query}`)).body;
    expect(await ask(`slug=${name}x`)).toEqual({
      available: true,
      slug: { name: `${name}x`, available: true, reason: null, suggestions: [] },
      subdomain: null,
    });
    const taken = await ask(`slug=${name}&subdomain=${name}`);
    expect([taken.available, taken.slug.reason, taken.subdomain.reason]).toEqual([false, 'taken', 'taken']);
    for (const free of [
      ...taken.slug.suggestions.map((it: string) => `slug=${it}`),
      ...taken.subdomain.suggestions.map((it: string) => `subdomain=${it}`),
    ])
      expect([free, (await ask(free)).available]).toEqual([free, true]);
    expect(taken.slug.suggestions).toHaveLength(3);
    expect((await ask('slug=search')).slug.reason).toBe('reserved');
    expect((await ask('subdomain=www')).subdomain.reason).toBe('reserved');
    expect((await ask('slug=My_Shop')).slug).toMatchObject({ reason: 'invalid', available: false });
    expect((await get('member', '/apps/availability')).status).toBe(400);
  });
});
