import { afterAll, beforeAll, expect, test } from 'bun:test';
import { openServerDatabase, type ServerDatabase } from '../support/database.ts';
import { done, newPerson, newTenant } from '../support/people.ts';
import { newRandom } from '../support/random.ts';
import { Tally } from '../support/rows.ts';
import { type RunningServer, startEmbedded } from '../support/server.ts';
import { repeatConcurrently } from '../support/until.ts';
import {
  allowedWidths,
  findViolations,
  newWalk,
  type People,
  readState,
  step,
  type Walked,
} from './publication-walk.ts';

export function publicationSequences({
  racesCount,
  raceAppsCount,
}: {
  racesCount: number;
  raceAppsCount: number;
}): void {
  const walksCount = 25;
  const stepsCount = 80;
  const atOnce = 6;

  let server: RunningServer;
  let database: ServerDatabase;
  beforeAll(async () => {
    server = await startEmbedded();
    database = openServerDatabase(server);
  });
  afterAll(() => database?.close());

  /** Each in a tenant of its own with two admins: roles change on the way, and no rate limit is exceeded. */
  async function walkAt(at: number): Promise<Walked> {
    const tenant = await newTenant(server);
    const as = (role: 'tenant_member' | 'tenant_admin') => newPerson(server, { tenant: tenant.id, role });
    const [owner, coOwner, keen] = await Promise.all([
      as('tenant_member'),
      as('tenant_member'),
      as('tenant_admin'),
    ]);
    const people: People = {
      owner: owner!,
      coOwner: coOwner!,
      keen: keen!,
      admin: tenant.admin,
      member: tenant.member,
    };
    return newWalk({ tenant, people, database }, at);
  }

  test(`${walksCount} walks of ${stepsCount} random steps by random people, each with a static app: nothing becomes wider, and nothing is shown beyond its owners, without another's approval`, async () => {
    const random = newRandom();
    console.log(`publication: seed ${random.seed}`);
    const tally = new Tally();
    const wrong: string[] = [];
    await repeatConcurrently(walksCount, atOnce, async (at) => {
      const walked = await walkAt(at);
      const mine = newRandom(random.seed + at);
      const trail: string[] = [];
      for (let taken = 0; taken < stepsCount; taken++) {
        trail.push(await step(walked, mine, tally));
        const faults = await findViolations(walked, grantedTo(walked));
        if (faults.length > 0) wrong.push(`${faults.join('; ')} after ${trail.slice(-12).join(', ')}`);
        tally.add(`was ${walked.seen.width}`);
      }
    });
    console.log(`publication: ${tally}`);
    expect(wrong.slice(0, 10)).toEqual([]);
    // Every state was visited: otherwise the checks above would prove little.
    for (const met of [
      'approve done',
      'approve unchanged',
      'approve settled',
      'approve self_review',
      'approve forbidden',
      'approve stale_deployment',
      'update visibility_widen_not_allowed',
      'publish request_open',
      'publish not_wider',
      'publish nothing_deployed',
      'activate promotion_required',
      'promote-approve done',
      'reject done',
      'withdraw done',
      'demote done',
      'restore done',
      'alone self_review',
      'was private',
      'was invite_only',
      'was public',
      'was internet',
    ])
      expect([met, tally.count(met) > 0]).toEqual([met, true]);
  });

  function grantedTo(walked: Walked) {
    const width = allowedWidths.get(walked);
    allowedWidths.delete(walked);
    return width === undefined ? [] : [width];
  }

  test(`${racesCount} races of an approval with another, with a narrowing and with a new release: one of them counts`, async () => {
    const tally = new Tally();
    const wrong: string[] = [];
    const races = { approve: twoApprove, narrow: approveAndNarrow, release: approveAndRelease };
    const kinds = Object.keys(races) as (keyof typeof races)[];
    await repeatConcurrently(raceAppsCount, atOnce, async (at) => {
      const walked = await walkAt(walksCount + at);
      for (let race = 0; race < racesCount / raceAppsCount; race++) {
        const kind = kinds[race % kinds.length]!;
        await startOver(walked);
        const ended = await races[kind](walked, race % 2 === 0 ? 'at once' : 'behind');
        tally.add(`${kind} ${ended.how}`);
        if (!ended.holds) wrong.push(`${kind} ended as ${ended.how}`);
      }
    });
    console.log(`publication races: ${tally}`);
    expect(wrong.slice(0, 10)).toEqual([]);
  });

  /** A private app whose first release is active, without an open request. */
  async function startOver({ people, base, releases }: Walked): Promise<void> {
    await done(people.owner.call('PATCH', base, { visibility: 'private' }));
    await done(people.owner.call('POST', `${base}/static/releases/${releases[0]}/activate`));
  }

  /** Owners take turns: the number of requests per person and minute is limited. */
  let asks = 0;
  const ask = async ({ people, base }: Walked, visibility: string): Promise<string> => {
    const asking = asks++ % 2 === 0 ? people.owner : people.coOwner;
    return (await done(asking.call('POST', `${base}/publication-requests`, { visibility }))).id;
  };
  const approve = ({ tenant, people }: Walked, id: string, by: 'admin' | 'keen' = 'admin') =>
    people[by].call('POST', `${tenant.base}/publication-requests/${id}/approve`);
  const codeOf = ({ status, body }: { status: number; body: { code?: string } }) =>
    body.code ?? String(status);

  /** An approval runs more queries than its competitor: after a read of the app, either may win. */
  type When = 'at once' | 'behind';
  async function start<T>({ people, base }: Walked, when: When, what: () => Promise<T>): Promise<T> {
    if (when === 'behind') await people.owner.call('GET', `${base}/static/site`);
    return what();
  }

  async function twoApprove(walked: Walked) {
    const id = await ask(walked, 'public');
    const codes = (await Promise.all([approve(walked, id, 'admin'), approve(walked, id, 'keen')]))
      .map(codeOf)
      .sort();
    const { width } = await readState(database, walked.app);
    return { how: `${codes.join(' and ')}, ${width}`, holds: `${codes} ${width}` === '200,settled public' };
  }

  async function approveAndNarrow(walked: Walked, when: When) {
    await done(approve(walked, await ask(walked, 'invite_only')));
    const id = await ask(walked, 'internet');
    const [approved, narrowed] = await Promise.all([
      approve(walked, id),
      start(walked, when, () => walked.people.coOwner.call('PATCH', walked.base, { visibility: 'private' })),
    ]);
    const { width } = await readState(database, walked.app);
    return {
      how: `${codeOf(approved)} and ${codeOf(narrowed)}, ${width}`,
      holds: narrowed.status === 200 && width === 'private' && ['200', 'settled'].includes(codeOf(approved)),
    };
  }

  async function approveAndRelease(walked: Walked, when: When) {
    const before = await readState(database, walked.app);
    const id = await ask(walked, 'public');
    const [approved, shown] = await Promise.all([
      approve(walked, id),
      start(walked, when, () =>
        walked.people.coOwner.call('POST', `${walked.base}/static/releases/${walked.releases[1]}/activate`),
      ),
    ]);
    const { width, active } = await readState(database, walked.app);
    const how = `${codeOf(approved)} and ${codeOf(shown)}, ${width}`;
    const isReviewed = active === before.active;
    return {
      how,
      holds:
        (how === '200 and promotion_required, public' && isReviewed) ||
        (how === 'stale_deployment and 200, private' && !isReviewed),
    };
  }
}
