import { beforeAll, describe, expect, test } from 'bun:test';
import { accessSituations } from './suites/access-situations.ts';
import { done, newMember, type Person } from './support/people.ts';
import { type PreviewWorld, previewWorld } from './support/preview-world.ts';

let world: PreviewWorld;
let t: PreviewWorld['t'];
beforeAll(async () => {
  world = await previewWorld();
  t = world.t;
});

accessSituations('HTTP');

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
      `${ada.email} sees the only row of lunch/changes. No column is masked or hidden. They can also insert rows where “by” is ${ada.email}; update rows where “by” is ${ada.email} or “n” is less than "3"; export all rows.`,
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
      `“n” is clear where “by” is ${ada.email}, otherwise empty by the column rule “n: read role:hr, own”; “by” is hidden by the column rule “by: read role:hr”.`,
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
      '“customer” is clear where “region” is "us", masked (partial: only the first 1 and the last 0 characters) where “region” is "eu" by the policy “In Europe”; “total” is rounded to 100 by both; “created_at” is truncated to the year by both.',
    );
  });

  test('whose rows somebody may see that are not theirs, and of more than one group', async () => {
    const ada = await newMember(t);
    await world.rules('others', 'own', { owner_column: 'by' });
    for (const n of [1, 2])
      await done(t.admin.call('POST', `/data/${t.slug}/lunch/others`, { by: t.admin.id, n }));
    expect(textOf(await world.inApp(ada, 'others'))).toBe(
      `${ada.email} sees only rows that belong to ${ada.email} (column “by”). None of the 2 rows belongs to them. The access works; if a row should be theirs, check the column “by”.`,
    );
    const filter = 'or=(region.eq.@me.groups,customer.eq.@me.groups)';
    await world.grant(ada, { policy_ids: [await world.policy('Two columns', { row_filter: filter })] });
    expect(textOf(await world.preview(ada))).toBe(
      `${ada.email} sees no rows: the policy “Two columns” shows each person only rows that match their groups, and ${ada.email} is in no group. Add them to one with: svc groups members add <group> --user ${ada.email} --execute`,
    );
  });

  test('outside the app, that the app opens the table only where its rules do', async () => {
    const ada = await newMember(t);
    await world.rules('managers', { read: ['role:manager'], write: ['none'] });
    const text = textOf(await world.inApp(ada, 'managers', { via: 'console' }));
    expect(text).toContain(
      'is neither. An owner can add a table grant with: svc tables grants issue --app lunch',
    );
    await roles(ada, 'manager');
    expect(textOf(await world.inApp(ada, 'managers', { via: 'console' }))).toContain(
      'is neither. They can use the app instead, or an owner can add a table grant with:',
    );
  });
});
