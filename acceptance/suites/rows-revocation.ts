import { beforeAll, expect, test } from 'bun:test';
import { admin } from '../support/commands.ts';
import { type Answered, bearer, type Call, caller, done, newMember, type Person } from '../support/people.ts';
import { revokeUnderLoad } from '../support/revocation.ts';
import { insertLines, newTable, type RowsWorld, rowsWorld } from '../support/rows.ts';
import { type RunningServer, startTwo } from '../support/server.ts';
import { rawStream } from '../support/sockets.ts';

import { until } from '../support/until.ts';

export function rowsRevocation({ clientsCount }: { clientsCount: number }): void {
  const rowsCount = 3_000;

  let first: RunningServer;
  let second: RunningServer;
  let ground: RowsWorld;

  beforeAll(async () => {
    [first, second] = await startTwo();
    ground = await rowsWorld(first);
    await newTable(ground, 'notes', ['text:text']);
    await newTable(ground, 'long', ['n:int', 'body:text']);
    const body = 'x'.repeat(10_000);
    for (let from = 0; from < rowsCount; from += 1_000) {
      const rows = Array.from({ length: 1_000 }, (_, n) => ({ n: from + n, body }));
      await insertLines(ground.owner, `${ground.data}/long`, rows);
    }
  });

  interface Right {
    credential: Record<string, string>;
    /** Revokes the right, at the first server. */
    remove: () => Promise<unknown>;
  }

  const rights: Record<string, () => Promise<Right>> = {
    'a co-owner who is removed': async () => {
      const person = await newMember(ground.tenant);
      const coOwners = `${ground.tenant.base}/apps/${ground.app.id}/co-owners`;
      await done(ground.owner.call('POST', coOwners, { user_id: person.id }));
      return {
        credential: bearer(person),
        remove: () => done(ground.owner.call('DELETE', `${coOwners}/${person.id}`)),
      };
    },
    'a token that is revoked': async () => {
      const pats = `${ground.tenant.base}/pats`;
      const pat = await done(ground.owner.call('POST', pats, { name: 'rows', actions: ['read', 'write'] }));
      return {
        credential: { 'x-api-key': pat.secret },
        remove: () => done(ground.owner.call('DELETE', `${pats}/${pat.id}`)),
      };
    },
    'a member whose table grant is revoked': async () => {
      const person = await newMember(ground.tenant);
      const removals = await createGrants(person);
      return {
        credential: bearer(person),
        remove: () => Promise.all(removals.map((path) => done(ground.owner.call('DELETE', path)))),
      };
    },
    'a user who is suspended': async () => {
      const person = await newMember(ground.tenant);
      await createGrants(person);
      return { credential: bearer(person), remove: () => admin(first, ['users', 'suspend', person.id]) };
    },
    'a token whose issuer is suspended': async () => {
      const person = await newMember(ground.tenant);
      await createGrants(person);
      const pats = `${ground.tenant.base}/pats`;
      const pat = await done(person.call('POST', pats, { name: 'rows', actions: ['read', 'write'] }));
      return {
        credential: { 'x-api-key': pat.secret },
        remove: () => admin(first, ['users', 'suspend', person.id]),
      };
    },
    'a member who is removed from the tenant': async () => {
      const person = await newMember(ground.tenant);
      await createGrants(person);
      const { admin: tenantAdmin, base } = ground.tenant;
      return {
        credential: bearer(person),
        remove: () => done(tenantAdmin.call('DELETE', `${base}/members/${person.id}`)),
      };
    },
  };

  /** Grants access to both tables; returns the URLs of the grants. */
  async function createGrants(person: Person): Promise<string[]> {
    const paths: string[] = [];
    for (const table of ['notes', 'long']) {
      const grants = `${ground.tables}/${table}/grants`;
      const grant = { principal_type: 'user', principal_id: person.id, actions: ['read', 'write'] };
      paths.push(`${grants}/${(await done(ground.owner.call('POST', grants, grant))).id}`);
    }
    return paths;
  }

  test.each(Object.keys(rights))(
    '%s reads and writes nothing a second later, on either server, and streams of theirs are cut',
    async (name) => {
      const { credential, remove } = await rights[name]!();
      const calls = [caller(first, credential), caller(second, credential)];
      const path = `${ground.data}/notes`;
      const asks: ((call: Call) => Promise<Answered>)[] = [
        (call) => call('GET', `${path}?per_page=1`),
        (call) => call('GET', `${path}/_count`),
        (call) => call('POST', path, { text: name }),
      ];
      const streams = [first, second].map((server) => rawStream(server, `${ground.data}/long`, credential));
      await until('rows come', async () => streams.every((stream) => stream.bytes() > 100_000));
      for (const stream of streams) stream.pause();
      const { successes, refusals, odd, late, lastMs } = await revokeUnderLoad({
        clients: Array.from({ length: clientsCount }, (_, at) =>
          asks.map((ask) => async () => {
            const { status } = await ask(calls[at % 2]!);
            if (status < 300) return 'works';
            return [401, 404].includes(status) ? 'refused' : String(status);
          }),
        ),
        remove,
      });
      for (const stream of streams) stream.resume();
      const ends = await Promise.all(streams.map((stream) => stream.ended));
      const lines = streams.map((stream) => stream.text().split('\n').length);
      console.log(
        `rows revocation: ${name}: ${successes} successes, the last ${lastMs} ms after the removal; ${refusals} refusals; streams cut after ${lines.join(' and ')} of ${rowsCount} lines`,
      );
      expect({ late, odd }).toEqual({ late: 0, odd: {} });
      // Aborted, and not ended as if complete.
      expect(ends).toEqual(['cut', 'cut']);
      expect(Math.max(...lines)).toBeLessThan(rowsCount);
    },
  );

  test('a stream of a person who keeps their access is complete, however slowly they read', async () => {
    const stream = rawStream(second, `${ground.data}/long`, bearer(ground.owner));
    await until('rows come', async () => stream.bytes() > 100_000);
    stream.pause();
    await done(ground.owner.call('GET', `${ground.data}/long/_count`));
    stream.resume();
    expect(await stream.ended).toBe('whole');
    expect(stream.text().match(/^\{/gm)?.length).toBe(rowsCount);
  });
}
