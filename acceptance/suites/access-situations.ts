import { beforeAll, describe, expect, test } from 'bun:test';
import { openServerDatabase, setApp } from '../support/database.ts';
import { type Answered, done, newMember, type Person } from '../support/people.ts';
import { type PreviewDriver, type PreviewWorld, previewWorld } from '../support/preview-world.ts';

/** Each situation is prepared and explained over HTTP, or with the commands that an admin types. */
export function accessSituations(driver: PreviewDriver): void {
  let world: PreviewWorld;
  let t: PreviewWorld['t'];
  beforeAll(async () => {
    world = await previewWorld(driver);
    t = world.t;
  });

  describe(`each of twenty situations gives a text that an admin understands, by ${driver}`, () => {
    interface Situation {
      name: string;
      /** Returns the answer for a new member. */
      of(person: Person): Promise<Answered>;
      text(person: Person): string;
    }
    const create = (person: Person, path = 'shop/orders') =>
      `Create a grant with: svc grants create --subject ${person.email} --connector warehouse --preset reader --scope ${path} --execute – or ask them to request access.`;

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
          await world.revoke(id);
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
          await database.query(`update svc.grants set expires_at = '2026-01-02T03:04:05Z' where id = $1`, [
            id,
          ]);
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
          'The connector warehouse has no table shop/nothing. Check the name: svc connectors tables warehouse lists the tables.',
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
          `${p.email} sees 2 of 5 rows of warehouse/shop/orders: those where “region” is "eu". Columns: “email” is shown shortened (such as a•••@example.com) by the policy “Europe”; “total” is hidden by the policy “Europe”. They can also export these rows.`,
      },
      {
        name: 'a filter that matches nothing',
        async of(p) {
          await world.grant(p, {
            policy_ids: [await world.policy('Mars', { row_filter: 'region=eq.mars' })],
          });
          return world.preview(p);
        },
        text: (p) =>
          `${p.email} may see only rows of warehouse/shop/orders where “region” is "mars". None of the 5 rows matches. If you expect rows, compare the filter of the policy “Mars” with the values in the table.`,
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
          `${p.email} sees no rows: the policy “Own region” shows each person only rows that match their attribute region, and ${p.email} does not have this attribute. Set it with: svc members set ${p.email} --attribute region=<value> --execute`,
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
          `${p.email} sees no rows: the policy “Of groups” shows only rows whose “region” is the name or id of a group that the person is in, and ${p.email} is in no group. Add them to a group whose name or id occurs in “region”: svc groups members add <group> --user ${p.email} --execute`,
      },
      {
        name: 'a policy that does not fit',
        async of(p) {
          await world.grant(p, { policy_ids: [await world.policy('Old', { row_filter: 'gone=eq.1' })] });
          return world.preview(p);
        },
        text: (p) =>
          `${p.email} cannot read the table, because the policy “Old” does not fit it any more: it uses the column “gone”, which the table does not have. Look at it with: svc policies get Old, then correct it, for example: svc policies update Old --row-filter '<filter>' --execute. Disabling the policy also removes its limits.`,
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
          `${p.email} sees nothing: the policy “Nothing” hides every column. Change which columns it shows with: svc policies update Nothing --columns-mode allow --columns <column>,<column> --execute`,
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
          `Reading the table menu needs the role manager in the app lunch, and ${p.email} does not have it. An owner of lunch can give them the role with: svc apps roles set --app lunch --role manager --user ${p.email} --execute`,
      },
      {
        name: 'rules that are closed',
        async of(p) {
          await world.rules('closed', 'closed');
          return world.inApp(p, 'closed');
        },
        text: () =>
          'People who use the app lunch cannot read the table closed: its rules let only the app itself read it. An owner can open it to everybody who uses the app with: svc tables access set closed --app lunch --read any --execute (own: only their own rows; role:<name>: only people with that role).',
      },
      {
        name: 'own rows, and none is theirs',
        async of(p) {
          await world.rules('mine', 'own', { owner_column: 'by' });
          await done(t.admin.call('POST', `/data/${t.slug}/lunch/mine`, { by: t.admin.id, n: 1 }));
          return world.inApp(p, 'mine');
        },
        text: (p) =>
          `${p.email} sees only rows that belong to ${p.email} (column “by”). The only row belongs to somebody else. The access works; if the row should be theirs, check the column “by”.`,
      },
      {
        name: 'outside the app without a table grant',
        async of(p) {
          await world.rules('outside', 'read-write');
          return world.inApp(p, 'outside', { via: 'console' });
        },
        text: (p) =>
          `On the command line and in the console, owners of lunch and people with a table grant can read the table outside; ${p.email} is neither. They can use the app instead, or an owner can add a table grant with: svc tables grants issue --app lunch --table outside --principal-type user --principal-id ${p.email} --actions read --execute`,
      },
      {
        name: 'an app that the person may not see',
        async of(p) {
          const { id } = await done(
            t.admin.call('POST', `${t.base}/apps`, { name: 'secret', slug: 'secret' }),
          );
          await setApp(t.server, id, { visibility: 'private' });
          await done(
            t.admin.call('POST', `${t.base}/apps/secret/tables`, { name: 'plans', columns: ['n:int'] }),
          );
          return world.inApp(p, 'plans', { app: 'secret' });
        },
        text: (p) =>
          `The app secret is private: only its owners can use it, and ${p.email} is not one of them. An owner must publish it: svc publish --app secret --visibility invite_only --execute (another admin may have to approve it), and then invite them: svc apps members add --app secret --user ${p.email} --execute`,
      },
    ];
    expect(situations.length).toBe(20);
    const today = () => new Date().toISOString().slice(0, 10);

    test.each(situations)('$name', async ({ of, text }) => {
      const person = await newMember(t);
      const { status, body, text: printed } = await of(person);
      expect([status, body.text]).toEqual([200, text(person)]);
      // Where the person sees no row, it does not matter what the admin sees.
      if (body.rows.visible === 0) expect(body.sample_withheld).toBeNull();
      expect(body.columns.length > 0).toBe(body.actions.includes('read'));
      expect(printed).not.toMatch(/^ {2}.* [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/m);
    });
  });
}
