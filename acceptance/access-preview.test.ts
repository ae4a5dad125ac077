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
      text: (p) => `${p.email} has no active grant on the connector warehouse. ${create(p)}`,
    },
    {
      name: 'a revoked grant',
      async of(p) {
        const id = await world.grant(p);
        await done(t.admin.call('POST', `${t.base}/grants/${id}/revoke`, {}));
        return world.preview(p);
      },
      text: (p) =>
        `${p.email} has no active grant on the connector warehouse. The last one was revoked on ${today()}. ${create(p)}`,
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
        `${p.email} has no active grant on the connector warehouse. The last one expired on 2026-01-02. ${create(p)}`,
    },
    {
      name: 'a grant for other tables',
      async of(p) {
        await world.grant(p, { scope_resource_paths: ['shop/empty'] });
        return world.preview(p);
      },
      text: (p) =>
        `${p.email}'s grants on the connector warehouse cover only shop/empty, not shop/orders. ${create(p)}`,
    },
    {
      name: 'a preset without read',
      async of(p) {
        await world.grant(p, { preset_id: await world.preset('only-insert', 'insert') });
        return world.preview(p);
      },
      text: (p) =>
        `${p.email}'s grants on shop/orders allow insert, but not read, because their preset does not include it. ${create(p)}`,
    },
    {
      name: 'a table that is not there',
      of: (p) => world.preview(p, { resource_path: 'shop/nothing' }),
      text: () =>
        'The connector warehouse has no table shop/nothing. Check the name. If the table is new, an admin can refresh the list of tables with: svc connectors schema refresh warehouse',
    },
    {
      name: 'everything',
      async of(p) {
        await world.grant(p);
        return world.preview(p);
      },
      text: (p) =>
        `${p.email} sees all 5 rows of warehouse/shop/orders. No column is masked or hidden. They cannot change or export rows.`,
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
        `${p.email} sees 2 of 5 rows of warehouse/shop/orders: those where region is "eu". email is masked (email: such as a•••@example.com) by the policy “Europe”; total is hidden by the policy “Europe”. Also allowed: export these rows.`,
    },
    {
      name: 'a filter that matches nothing',
      async of(p) {
        await world.grant(p, { policy_ids: [await world.policy('Mars', { row_filter: 'region=eq.mars' })] });
        return world.preview(p);
      },
      text: (p) =>
        `${p.email} may see only rows of warehouse/shop/orders where region is "mars", and none of its 5 rows matches. If you expect rows, compare the filter of the policy “Mars” with the values in the table.`,
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
        `${p.email} sees no rows: the policy “Own region” shows only rows that match the person's attribute region, which ${p.email} does not have. Set it with: svc members set ${p.email} --attribute region=<value>`,
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
        `${p.email} sees no rows: the policy “Of groups” shows only rows that match the person's groups, and ${p.email} is in no group. Add them to one with: svc groups members add <group> --user ${p.email}`,
    },
    {
      name: 'a policy that does not fit',
      async of(p) {
        await world.grant(p, { policy_ids: [await world.policy('Old', { row_filter: 'gone=eq.1' })] });
        return world.preview(p);
      },
      text: (p) =>
        `${p.email} cannot read the table, because the policy “Old” does not fit it any more. The table has no column \`gone\`. Correct the policy with: svc policies update Old – or disable it with --enabled=false.`,
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
      text: (p) =>
        `${p.email} sees nothing: the policy “Nothing” hides every column. An admin can change which columns the policy shows.`,
    },
    {
      name: 'an empty table',
      async of(p) {
        await world.grant(p);
        return world.preview(p, { resource_path: 'shop/empty' });
      },
      text: () => 'The table warehouse/shop/empty is empty. The access works: new rows will be visible.',
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
        `${p.email}'s account is suspended, so no grant or rule gives them access. The operator of the platform can reactivate the account.`,
    },
    {
      name: 'a role that is missing',
      async of(p) {
        await world.rules('menu', { read: ['role:manager'], write: ['none'] });
        return world.inApp(p, 'menu');
      },
      text: (p) =>
        `Reading the table menu needs the role manager in the app lunch, and ${p.email} does not have it. Give them the role with: svc apps roles set --app lunch --role manager --user ${p.email}`,
    },
    {
      name: 'rules that are closed',
      async of(p) {
        await world.rules('closed', 'closed');
        return world.inApp(p, 'closed');
      },
      text: () =>
        'People who use the app lunch cannot read the table closed: its rules let only the app itself read it. An owner can change the rules with: svc tables access set closed --app lunch --read …',
    },
    {
      name: 'own rows, and none is theirs',
      async of(p) {
        await world.rules('mine', 'own', { owner_column: 'by' });
        await done(t.admin.call('POST', `/data/${t.slug}/lunch/mine`, { by: t.admin.id, n: 1 }));
        return world.inApp(p, 'mine');
      },
      text: (p) =>
        `${p.email} may see only rows of lunch/mine where by is ${p.email}, and its only row does not match. If you expect rows, compare this condition with the values in the table.`,
    },
    {
      name: 'outside the app without a table grant',
      async of(p) {
        await world.rules('outside', 'read-write');
        return world.inApp(p, 'outside', { via: 'console' });
      },
      text: (p) =>
        `On the command line and in the console, only owners of lunch and people with a table grant can read the table outside; ${p.email} is neither. They can use the app instead, or an owner can add a table grant with: svc tables grants issue --app lunch --table outside --principal-type user --principal-id ${p.email} --actions read`,
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
        `The app secret is private: only its owners can use it, and ${p.email} is not one of them. Publish the app to invited people, then invite them with: svc apps members add --app secret --user ${p.email}`,
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
      `${ada.email} sees the only row of lunch/changes. No column is masked or hidden. Also allowed: insert rows where by is ${ada.email}; update rows where by is ${ada.email} or n is less than "3"; export all rows.`,
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
    expect(textOf(await world.inApp(hr, 'columns'))).toContain('No column is masked or hidden.');
  });

  test('that a column is clear where its rule allows all visible rows', async () => {
    const ada = await newMember(t);
    const columns = { n: { read: ['own'] } };
    await world.rules('ownrows', { read: ['own'], write: ['none'], columns }, { owner_column: 'by' });
    await done(t.admin.call('POST', `/data/${t.slug}/lunch/ownrows`, { by: ada.id, n: 1 }));
    expect(textOf(await world.inApp(ada, 'ownrows'))).toContain('No column is masked or hidden.');
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
      'customer is clear where region is "us", masked (partial: only the first 1 and the last 0 characters) where region is "eu" by the policy “In Europe”; total is masked (round to 100) by both; created_at is masked (truncate to year) by both.',
    );
  });
});
