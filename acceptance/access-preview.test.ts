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
      `${ada.email} sees the only row of lunch/changes. No column is masked or hidden. They can also insert rows where by is ${ada.email}; update rows where by is ${ada.email} or n is less than "3"; export all rows.`,
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
