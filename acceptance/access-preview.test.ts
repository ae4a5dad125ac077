import { beforeAll, describe, expect, test } from 'bun:test';
import { openServerDatabase, setApp } from './support/database.ts';
import { done, newMember, type Person } from './support/people.ts';
import { type PreviewWorld, previewWorld } from './support/preview-world.ts';

let world: PreviewWorld;
let t: PreviewWorld['t'];
beforeAll(async () => {
  world = await previewWorld();
  t = world.t;
});

describe('each of twenty situations gives a text that an admin understands', () => {
  interface Situation {
    name: string;
    /** Returns the answer for a new member. */
    of(person: Person): Promise<{ status: number; body: { text: string } }>;
    text(person: Person): string;
  }
  const create = (person: Person, path = 'shop/orders') =>
    `Create a grant with: svc grants create --subject ${person.email} --connector warehouse --preset reader --scope ${path} – or ask them to request access.`;

  const situations: Situation[] = [
    {
      name: 'no grant',
      of: (p) => world.preview(p),
      text: (p) => `${p.email} has no active grant of warehouse. ${create(p)}`,
    },
    {
      name: 'a revoked grant',
      async of(p) {
        const id = await world.grant(p);
        await done(t.admin.call('POST', `${t.base}/grants/${id}/revoke`, {}));
        return world.preview(p);
      },
      text: (p) =>
        `${p.email} has no active grant of warehouse. The last one was revoked on ${today()}. ${create(p)}`,
    },
    {
      name: 'an expired grant',
      async of(p) {
        const id = await world.grant(p, { expires_at: new Date(Date.now() + 60_000).toISOString() });
        const database = openServerDatabase(t.server);
        await database.query(`update svc.grants set expires_at = '2026-01-02T03:04:05Z' where id = $1`, [id]);
        await database.close();
        return world.preview(p);
      },
      text: (p) =>
        `${p.email} has no active grant of warehouse. The last one expired on 2026-01-02. ${create(p)}`,
    },
    {
      name: 'a grant for other tables',
      async of(p) {
        await world.grant(p, { scope_resource_paths: ['shop/empty'] });
        return world.preview(p);
      },
      text: (p) => `${p.email}'s grants of warehouse cover shop/empty, not shop/orders. ${create(p)}`,
    },
    {
      name: 'a preset without read',
      async of(p) {
        await world.grant(p, { preset_id: await world.preset('only-insert', 'insert') });
        return world.preview(p);
      },
      text: (p) => `The preset of ${p.email}'s grants allows insert, but not read. ${create(p)}`,
    },
    {
      name: 'a table that is not there',
      of: (p) => world.preview(p, { resource_path: 'shop/nothing' }),
      text: () =>
        'warehouse has no table shop/nothing, or its schema has not been read since the table was created. Check the name; an admin can read the schema again with: svc connectors schema refresh warehouse',
    },
    {
      name: 'everything',
      async of(p) {
        await world.grant(p);
        return world.preview(p);
      },
      text: (p) =>
        `${p.email} sees all 5 rows of warehouse/shop/orders. Every column is clear. Nothing can be changed or exported.`,
    },
    {
      name: 'some rows, hidden and masked columns',
      async of(p) {
        const id = await world.policy('Europe', {
          row_filter: 'region=eq.eu',
          columns: { mode: 'deny', names: ['total'] },
          masks: [{ column: 'email', kind: 'email' }],
        });
        await world.grant(p, {
          policy_ids: [id],
          preset_id: await world.preset('exporter', 'read', 'export'),
        });
        return world.preview(p);
      },
      text: (p) =>
        `${p.email} sees 2 of 5 rows of warehouse/shop/orders: those where region is "eu". email is masked (email) by the policy “Europe”; total is hidden by the policy “Europe”. Also allowed: export these rows.`,
    },
    {
      name: 'a filter that matches nothing',
      async of(p) {
        await world.grant(p, { policy_ids: [await world.policy('Mars', { row_filter: 'region=eq.mars' })] });
        return world.preview(p);
      },
      text: (p) =>
        `None of the 5 rows of warehouse/shop/orders matches what ${p.email} may see: region is "mars". If rows are expected, compare the filter with the values in the table.`,
    },
    {
      name: 'an attribute that is missing',
      async of(p) {
        await world.grant(p, {
          policy_ids: [await world.policy('Own region', { row_filter: 'region=eq.@me.region' })],
        });
        return world.preview(p);
      },
      text: (p) =>
        `The filter of the policy “Own region” compares rows with the attribute region, which ${p.email} does not have. Set it with: svc members set ${p.email} --attribute region=<value>`,
    },
    {
      name: 'a group that the person is not in',
      async of(p) {
        await world.grant(p, {
          policy_ids: [await world.policy('Of groups', { row_filter: 'region=eq.@me.groups' })],
        });
        return world.preview(p);
      },
      text: (p) =>
        `None of the 5 rows of warehouse/shop/orders matches what ${p.email} may see: region is one of an empty list. If rows are expected, compare the filter with the values in the table.`,
    },
    {
      name: 'a policy that does not fit',
      async of(p) {
        await world.grant(p, { policy_ids: [await world.policy('Old', { row_filter: 'gone=eq.1' })] });
        return world.preview(p);
      },
      text: () =>
        'The policy Old does not fit the table any more. An admin must update it. The table has no column `gone`. Update or disable the policy: svc policies update',
    },
    {
      name: 'every column hidden',
      async of(p) {
        const all = ['id', 'region', 'customer', 'email', 'total', 'created_at', 'updated_at'];
        await world.grant(p, {
          policy_ids: [await world.policy('Nothing', { columns: { mode: 'deny', names: all } })],
        });
        return world.preview(p);
      },
      text: () =>
        'Every column is hidden by the policy “Nothing”. An admin can show columns by changing the policy.',
    },
    {
      name: 'an empty table',
      async of(p) {
        await world.grant(p);
        return world.preview(p, { resource_path: 'shop/empty' });
      },
      text: () => 'warehouse/shop/empty has no rows. There is nothing to change about the access.',
    },
    {
      name: 'a suspended person',
      async of(p) {
        await world.grant(p);
        const database = openServerDatabase(t.server);
        await database.query(`update svc.users set status = 'suspended' where id = $1`, [p.id]);
        await database.close();
        return world.preview(p);
      },
      text: (p) =>
        `${p.email} is suspended and can use nothing in this tenant. Reactivate the account, if the person is to have access again.`,
    },
    {
      name: 'a role that is missing',
      async of(p) {
        await world.rules('menu', { read: ['role:manager'], write: ['none'] });
        return world.inApp(p, 'menu');
      },
      text: (p) =>
        `Reading menu needs the role manager of lunch, which ${p.email} does not have. Give it with: svc apps roles set --app lunch --role manager --user ${p.email}`,
    },
    {
      name: 'rules that are closed',
      async of(p) {
        await world.rules('closed', 'closed');
        return world.inApp(p, 'closed');
      },
      text: () =>
        'The rules of closed let nobody who uses lunch read rows (read: app). Owners open it with: svc tables access set closed --app lunch --read …',
    },
    {
      name: 'own rows, and none is theirs',
      async of(p) {
        await world.rules('mine', 'own', { owner_column: 'by' });
        await done(t.admin.call('POST', `/data/${t.slug}/lunch/mine`, { by: t.admin.id, n: 1 }));
        return world.inApp(p, 'mine');
      },
      text: (p) =>
        `None of the 1 rows of lunch/mine matches what ${p.email} may see: by is ${p.email}. If rows are expected, compare the filter with the values in the table.`,
    },
    {
      name: 'outside the app without a table grant',
      async of(p) {
        await world.rules('outside', 'read-write');
        return world.inApp(p, 'outside', { via: 'console' });
      },
      text: (p) =>
        `Outside the app, rows of outside are for owners of lunch and for people with a table grant; ${p.email} is neither. Open the app, or let an owner add a table grant: svc tables grants issue --app lunch --table outside --principal-type user --principal-id ${p.email} --actions read`,
    },
    {
      name: 'an app that the person may not see',
      async of(p) {
        const { id } = await done(t.admin.call('POST', `${t.base}/apps`, { name: 'secret', slug: 'secret' }));
        await setApp(t.server, id, { visibility: 'private' });
        await done(
          t.admin.call('POST', `${t.base}/apps/secret/tables`, { name: 'plans', columns: ['n:int'] }),
        );
        return world.inApp(p, 'plans', { app: 'secret' });
      },
      text: (p) =>
        `The app secret is private, and ${p.email} is not among its people. Publish the app to invited people, then invite them with: svc apps members add --app secret --user ${p.email}`,
    },
  ];
  expect(situations.length).toBe(20);
  const today = () => new Date().toISOString().slice(0, 10);

  test.each(situations)('$name', async ({ of, text }) => {
    const person = await newMember(t);
    const { status, body } = await of(person);
    expect([status, body.text]).toEqual([200, text(person)]);
  });
});

describe('the text says of rows and columns', () => {
  const textOf = (answer: { body: { text: string } }) => answer.body.text;
  const roles = (person: Person, role: string) =>
    done(t.admin.call('POST', `${t.base}/apps/lunch/roles`, { role, user: person.id }));

  test('which ones each change is about, without changes that no row allows', async () => {
    const ada = await newMember(t);
    const access = {
      read: ['any'],
      insert: ['own'],
      update: ['own', 'n=lt.3'],
      delete: ['n=in.(@me.groups)'],
    };
    await world.rules('changes', access, { owner_column: 'by' });
    await done(t.admin.call('POST', `/data/${t.slug}/lunch/changes`, { by: ada.id, n: 1 }));
    const answer = await world.inApp(ada, 'changes');
    expect(textOf(answer)).toBe(
      `${ada.email} sees all 1 rows of lunch/changes. Every column is clear. Also allowed: insert rows where by is ${ada.email}; update rows where by is ${ada.email} or n is less than "3"; export all rows.`,
    );
    expect(answer.body.actions).toEqual(['read', 'insert', 'update', 'export']);
  });

  test('the rule of a column that hides it or empties it in some rows', async () => {
    const [ada, hr] = [await newMember(t), await newMember(t)];
    const columns = { n: { read: ['role:hr', 'own'] }, by: { read: ['role:hr'] } };
    await world.rules('columns', { read: ['any'], write: ['none'], columns }, { owner_column: 'by' });
    await roles(hr, 'hr');
    await done(t.admin.call('POST', `/data/${t.slug}/lunch/columns`, { by: ada.id, n: 1 }));
    const answer = await world.inApp(ada, 'columns');
    expect(textOf(answer)).toContain(
      `n is clear where by is ${ada.email}, otherwise empty by the column rule “n: read role:hr, own”; by is hidden by the column rule “by: read role:hr”.`,
    );
    expect(answer.body.columns.find(({ name }: { name: string }) => name === 'n')).toMatchObject({
      access: 'masked',
      mask: 'null',
    });
    expect(textOf(await world.inApp(hr, 'columns'))).toContain('Every column is clear.');
  });

  test('that a column is clear where its rule allows all visible rows', async () => {
    const ada = await newMember(t);
    const columns = { n: { read: ['own'] } };
    await world.rules('ownrows', { read: ['own'], write: ['none'], columns }, { owner_column: 'by' });
    await done(t.admin.call('POST', `/data/${t.slug}/lunch/ownrows`, { by: ada.id, n: 1 }));
    expect(textOf(await world.inApp(ada, 'ownrows'))).toContain('Every column is clear.');
  });

  test('the arguments of masks, each mask once, and no case that no visible row has', async () => {
    const ada = await newMember(t);
    const partial = { column: 'customer', kind: 'partial', args: { first: 1, last: 0 } };
    const round = { column: 'total', kind: 'round', args: { to: 100 } };
    const year = { column: 'created_at', kind: 'truncate', args: { unit: 'year' } };
    const policies = [
      await world.policy('In Europe', { row_filter: 'region=eq.eu', masks: [partial, round, year] }),
      await world.policy('In America', { row_filter: 'region=eq.us', masks: [round, year] }),
    ];
    for (const id of policies) await world.grant(ada, { policy_ids: [id] });
    const both = /by the policies “In (Europe|America)” and “In (Europe|America)”/g;
    expect(textOf(await world.preview(ada)).replace(both, 'by both')).toContain(
      'customer is clear where region is "us", masked (partial: first 1, last 0) where region is "eu" by the policy “In Europe”; total is masked (round to 100) by both; created_at is masked (truncate to year) by both.',
    );
  });
});
