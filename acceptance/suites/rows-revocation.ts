import { beforeAll, expect, test } from 'bun:test';
import { admin } from '../support/commands.ts';
import { type Answered, bearer, type Call, caller, done, newMember, type Person } from '../support/people.ts';
import { insertLines, newTable, type RowsWorld, rowsWorld, Tally } from '../support/rows.ts';
import { type RunningServer, startTwo } from '../support/server.ts';
import { rawStream } from '../support/sockets.ts';

import { until } from '../support/until.ts';

export function rowsRevocation({ clientsCount }: { clientsCount: number }): void {
  /** The promise: this long after the removal was confirmed, nothing works any more. */
  const withinMs = 1_000;
  const rowsCount = 6_000;

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
      const removals = await granted(person);
      return {
        credential: bearer(person),
        remove: () => Promise.all(removals.map((path) => done(ground.owner.call('DELETE', path)))),
      };
    },
    'a user who is suspended': async () => {
      const person = await newMember(ground.tenant);
      await granted(person);
      return { credential: bearer(person), remove: () => admin(first, ['users', 'suspend', person.id]) };
    },
    'a token whose issuer is suspended': async () => {
      const person = await newMember(ground.tenant);
      await granted(person);
      const pats = `${ground.tenant.base}/pats`;
      const pat = await done(person.call('POST', pats, { name: 'rows', actions: ['read', 'write'] }));
      return {
        credential: { 'x-api-key': pat.secret },
        remove: () => admin(first, ['users', 'suspend', person.id]),
      };
    },
    'a member who is removed from the tenant': async () => {
      const person = await newMember(ground.tenant);
      await granted(person);
      const { admin: tenantAdmin, base } = ground.tenant;
      return {
        credential: bearer(person),
        remove: () => done(tenantAdmin.call('DELETE', `${base}/members/${person.id}`)),
      };
    },
  };

  /** Grants access to both tables; returns the URLs of the grants. */
  async function granted(person: Person): Promise<string[]> {
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
      const successes: number[] = [];
      const refusals: number[] = [];
      const odd = new Tally();
      let removedAt = Number.POSITIVE_INFINITY;
      const clients = Array.from({ length: clientsCount }, async (_, at) => {
        for (let turn = at; performance.now() < removedAt + withinMs + 100; turn++) {
          const { status } = await asks[turn % 3]!(calls[at % 2]!);
          if (status < 300) successes.push(performance.now());
          else if ([401, 404].includes(status) && removedAt !== Number.POSITIVE_INFINITY) {
            refusals.push(performance.now());
          } else if (![401, 404].includes(status)) odd.add(status);
        }
      });
      try {
        await until('every client has been served', async () => successes.length >= 3 * clientsCount);
        await remove();
      } finally {
        removedAt = performance.now();
      }
      await Promise.all(clients);
      for (const stream of streams) stream.resume();
      const ends = await Promise.all(streams.map((stream) => stream.ended));
      const lines = streams.map((stream) => stream.text().split('\n').length);
      const late = successes.filter((at) => at > removedAt + withinMs).length;
      const last = Math.max(0, Math.round(Math.max(...successes) - removedAt));
      console.log(
        `rows revocation: ${name}: ${successes.length} successes, the last ${last} ms after the removal; ${refusals.length} refusals; streams cut after ${lines.join(' and ')} of ${rowsCount} lines`,
      );
      expect({ late, odd: odd.counts }).toEqual({ late: 0, odd: {} });
      // Aborted, and not ended as if complete.
      expect(ends).toEqual(['cut', 'cut']);
      expect(Math.max(...lines)).toBeLessThan(rowsCount);
      expect(refusals.length).toBeGreaterThan(clientsCount);
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
