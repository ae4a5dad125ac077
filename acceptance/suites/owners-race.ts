import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openServerDatabase, type ServerDatabase } from '../support/database.ts';
import { type Answered, caller, done, newMember, type Person } from '../support/people.ts';
import { newRandom, type Random } from '../support/random.ts';
import { type RowsWorld, rowsWorld, Tally } from '../support/rows.ts';
import { type RunningServer, startEmbedded } from '../support/server.ts';

import { repeatConcurrently, until } from '../support/until.ts';

export function ownersRace({ killsCount }: { killsCount: number }): void {
  const editsCount = 300;
  const peopleCount = 6;
  const clientsCount = 12;

  interface Entry {
    action: string;
    changes: { path: string; before: unknown; after: unknown }[];
  }
  interface Owners {
    owner: string;
    coOwners: string[];
  }

  /** The owners of the app derived from the audit alone; throws at an entry that does not follow. */
  function replay(entries: readonly Entry[]): Owners {
    let owner = '';
    const coOwners = new Set<string>();
    const idIn = (value: unknown) => (value as { user_id: string }).user_id;
    for (const { action, changes } of entries) {
      const change = (path: string) => changes.find((it) => it.path === path);
      const must = (holds: boolean) => {
        if (!holds)
          throw new Error(`${action} does not follow from what was before: ${JSON.stringify(changes)}`);
      };
      if (action === 'apps.create') owner = String(change('owner_id')?.after);
      if (action === 'ownership.transfer') {
        must(idIn(change('owner')?.before) === owner);
        owner = idIn(change('owner')?.after);
      }
      if (action === 'coOwners.add') {
        const id = idIn(change('co_owner')?.after);
        must(!coOwners.has(id) && id !== owner);
        coOwners.add(id);
      }
      if (action === 'coOwners.remove') must(coOwners.delete(idIn(change('co_owner')?.before)));
    }
    return { owner, coOwners: [...coOwners].sort() };
  }

  /** Differences between state and audit, read by one statement and so at one moment. */
  async function wrongWith(database: ServerDatabase, app: string): Promise<string[]> {
    const found = await database.query(
      `select a.owner_id,
       (select coalesce(json_agg(user_id order by user_id::text), '[]') from svc.app_co_owners where app_id = a.id) as co,
       (select json_agg(json_build_object('action', action, 'changes', changes) order by seq)
        from svc.audit_entries where tenant_id = a.tenant_id and app_id = a.id::text) as entries
     from svc.apps a where a.id = $1`,
      [app],
    );
    const row = found[0] as { owner_id: string; co: string[]; entries: Entry[] };
    const replayed = replay(row.entries);
    const state = { owner: row.owner_id, coOwners: row.co };
    return [
      ...(found.length === 1 ? [] : [`${found.length} apps`]),
      ...(row.owner_id ? [] : ['no owner']),
      ...(row.co.includes(row.owner_id) ? ['the owner is a co-owner, too'] : []),
      ...(JSON.stringify(replayed) === JSON.stringify(state)
        ? []
        : [`state ${JSON.stringify(state)}, audit ${JSON.stringify(replayed)}`]),
    ];
  }

  /** Checks the API's answer: one owner, and nobody twice. */
  function wrongIn({ status, body }: Answered): string[] {
    if (status !== 200) return [`${status}`];
    const items: { role: string; user_id: string }[] = body.items;
    const owners = items.filter(({ role }) => role === 'owner').length;
    const distinct = new Set(items.map(({ user_id }) => user_id)).size;
    return owners === 1 && distinct === items.length ? [] : [JSON.stringify(items)];
  }

  /** People who may own the app, and the last known owner. */
  interface Candidates {
    people: readonly Person[];
    owner: Person;
  }

  /** A random edit: many are refused, since only one person is the owner at a time. */
  async function edit(ground: RowsWorld, candidates: Candidates, random: Random): Promise<Answered> {
    const by = random.chance(0.5) ? candidates.owner : random.pick(candidates.people);
    const about = random.pick(candidates.people);
    const app = `${ground.tenant.base}/apps/${ground.app.id}`;
    switch (random.below(5)) {
      case 0:
        return markUnchanged(await candidates.owner.call('POST', `${app}/co-owners`, { user_id: about.id }));
      case 1:
        return random.pick([by, ground.tenant.admin]).call('DELETE', `${app}/co-owners/${about.id}`);
      default: {
        const answer = await by.call('POST', `${app}/ownership/transfer`, { to: about.id });
        if (answer.status === 200) candidates.owner = about;
        return answer;
      }
    }
  }

  /** A repeat succeeds and changes nothing: counted as 304, apart from changes. */
  const markUnchanged = (answer: Answered) =>
    answer.body?.changed === false ? { ...answer, status: 304 } : answer;

  /** The owner and the co-owners of the app, who are authorized again under the lock. */
  async function newCandidates(ground: RowsWorld): Promise<Candidates> {
    const others = await Promise.all(Array.from({ length: peopleCount - 1 }, () => newMember(ground.tenant)));
    const coOwners = `${ground.tenant.base}/apps/${ground.app.id}/co-owners`;
    for (const { id } of others) await done(ground.owner.call('POST', coOwners, { user_id: id }));
    return { people: [ground.owner, ...others], owner: ground.owner };
  }

  const isMade = (status: number) => status === 200 || status === 201 || status === 204;

  test('300 transfers and edits of co-owners at once: always one owner, and the audit matches the state', async () => {
    const random = newRandom();
    const server = await startEmbedded();
    const ground = await rowsWorld(server);
    const candidates = await newCandidates(ground);
    const database = openServerDatabase(server);
    const statuses = new Tally();
    const wrong = new Set<string>();
    const newest = await database.query(
      'select max(seq) as seq from svc.audit_entries where tenant_id = $1',
      [ground.tenant.id],
    );
    const begun = Number(newest[0]?.seq);
    let [over, looks] = [false, 0];
    const list = () =>
      ground.tenant.admin.call('GET', `${ground.tenant.base}/apps/${ground.app.id}/co-owners`);
    const poller = async () => {
      while (!over) {
        for (const it of await wrongWith(database, ground.app.id)) wrong.add(it);
        for (const it of wrongIn(await list())) wrong.add(it);
        looks++;
      }
    };
    const polling = poller();
    const work = async () => statuses.add((await edit(ground, candidates, random)).status);
    // All in parallel first, then fewer at a time, who know the owner.
    for (const atOnce of [editsCount, 4]) await repeatConcurrently(editsCount, atOnce, work);
    over = true;
    await polling;
    for (const it of await wrongWith(database, ground.app.id)) wrong.add(it);
    const made = Number(
      (
        await database.query(
          `select count(distinct (at, request_id)) as n from svc.audit_entries
         where app_id = $1 and seq > $2`,
          [ground.app.id, begun],
        )
      )[0]?.n,
    );
    const acknowledged = [200, 201, 204].reduce((sum, status) => sum + statuses.count(status), 0);
    console.log(
      `owners race: seed ${random.seed}; ${editsCount} edits at once and ${editsCount} more by ${peopleCount} people, ${acknowledged} made (${statuses.count(200)} transfers); looked ${looks} times; wrong: ${wrong.size}; ${statuses}`,
    );
    expect([...wrong]).toEqual([]);
    expect(made).toBe(acknowledged);
    for (const [status, min] of [
      [200, 10],
      [201, 0],
      [204, 0],
    ] as const)
      expect(statuses.count(status)).toBeGreaterThan(min);
    // A transfer to oneself: 400; by a person who is not the owner: 403, or 404 if they do not see the app.
    expect(statuses.except(200, 201, 204, 304, 400, 403, 404, 409)).toEqual([]);
    await database.close();
    await server.stop();
  });

  test('kill -9 in the middle of transfers: one owner, and audit and state agree, each time it is back', async () => {
    const random = newRandom();
    let server: RunningServer = await startEmbedded();
    const ground = await rowsWorld(server);
    const candidates = await newCandidates(ground);
    const statuses = new Tally();
    const wrong: string[] = [];
    const transfers = new Set<string>();
    let [over, acknowledged] = [false, 0];
    const isReady = () =>
      fetch(`${server.baseUrl}/readyz`).then(
        ({ status }) => status === 200,
        () => false,
      );
    const client = async () => {
      while (!over) {
        const answer = await edit(ground, candidates, random).catch(() => null);
        statuses.add(answer?.status ?? 'no answer');
        if (answer && isMade(answer.status)) acknowledged++;
        // Confirmed to the caller: must be in the audit whatever happens after.
        if (answer?.status === 200) transfers.add(String(answer.headers.get('x-request-id')));
        if (!answer || answer.status >= 500) await until('the server is back', isReady, 60_000);
      }
    };
    const clients = Array.from({ length: clientsCount }, client);
    for (let kill = 1; kill <= killsCount; kill++) {
      const wanted = acknowledged + 10 + random.below(20);
      await until('some were made', async () => acknowledged >= wanted, 60_000);
      if (kill % 3 === 0) process.kill(postmasterOf(server), 'SIGKILL');
      server.signal('SIGKILL');
      await server.exited;
      server = await startEmbedded({ dataDir: server.dataDir, port: server.port });
      const database = openServerDatabase(server);
      wrong.push(...(await wrongWith(database, ground.app.id)));
      await database.close();
    }
    over = true;
    await Promise.all(clients);
    const database = openServerDatabase(server);
    wrong.push(...(await wrongWith(database, ground.app.id)));
    const audited = await database.query(
      "select request_id from svc.audit_entries where action = 'ownership.transfer' and app_id = $1",
      [ground.app.id],
    );
    const lost = transfers.difference(new Set(audited.map(({ request_id }) => String(request_id))));
    await database.close();
    const list = caller(server, { authorization: `Bearer ${ground.tenant.admin.token}` });
    const shown = await list('GET', `${ground.tenant.base}/apps/${ground.app.id}/co-owners`);
    console.log(
      `owners crash: seed ${random.seed}; ${killsCount} kills; ${acknowledged} edits made, ${transfers.size} of them transfers, lost: ${lost.size}, wrong: ${wrong.length}; ${statuses}`,
    );
    expect({ wrong, lost: [...lost], shown: wrongIn(shown) }).toEqual({ wrong: [], lost: [], shown: [] });
    expect(statuses.except(200, 201, 204, 304, 400, 403, 404, 409, 503, 'no answer')).toEqual([]);
    await server.stop();
  });

  const postmasterOf = (server: RunningServer) =>
    Number(readFileSync(join(server.dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);
}
