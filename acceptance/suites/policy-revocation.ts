import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type GovernedWorld, governedWorld } from '../support/governed.ts';
import {
  type Answered,
  bearer,
  caller,
  done,
  newMember,
  type Person,
  tokenThrough,
} from '../support/people.ts';
import { revokeUnderLoad } from '../support/revocation.ts';
import { insertLines } from '../support/rows.ts';
import type { RunningServer } from '../support/server.ts';
import { rawStream } from '../support/sockets.ts';
import { until } from '../support/until.ts';
import { startWarehouse, type Warehouse } from '../support/warehouses.ts';

const rowsCount = 2_000;

interface Right {
  token: string;
  /** Where the rows are read; the path of the app's own table if absent. */
  path?: string;
  /** Takes the right away, at the first server. */
  remove: () => Promise<unknown>;
  /** Gives back what others need too. */
  restore?: () => Promise<unknown>;
}

/** Whatever gives access to rows: without it they are gone within a second, also from a running export. */
export function policyRevocation(size: {
  start: () => Promise<readonly RunningServer[]>;
  clientsCount: number;
  only?: readonly string[];
  /** Also rows of databases outside. */
  kinds?: readonly Warehouse['kind'][];
}): void {
  let servers: readonly RunningServer[];
  let world: GovernedWorld;
  let path: string;
  let exporter: string;
  const warehouses = new Map<Warehouse['kind'], { warehouse: Warehouse; connectorId: string }>();

  afterAll(async () => {
    for (const { warehouse } of warehouses.values()) await warehouse.stop();
  });
  beforeAll(async () => {
    servers = await size.start();
    world = await governedWorld(servers[0]);
    const columns = ['n:int', 'region:text', 'body:text'];
    const read = ['role:reader', 'region=eq.@me.region'];
    await done(
      world.owner.call('POST', world.tables, {
        name: 'long',
        columns,
        access: { read, insert: ['none'], update: ['none'], delete: ['none'] },
      }),
    );
    path = `${world.app.slug}/long`;
    exporter = await world.preset('read', 'export');
    const body = 'x'.repeat(10_000);
    for (let from = 0; from < rowsCount; from += 1_000) {
      const rows = Array.from({ length: 1_000 }, (_, n) => ({ n: from + n, region: 'eu', body }));
      await insertLines(world.owner, `${world.data}/long`, rows);
    }
    for (const kind of size.kinds ?? []) {
      const warehouse = await startWarehouse(kind);
      warehouses.set(kind, { warehouse, connectorId: '' });
      const numbers = `with recursive s (n) as (select 0 union all select n + 1 from s where n < ${rowsCount - 1})`;
      const fill = `select n, n, 'eu', repeat('x', 10000) from s`;
      await warehouse.query(
        `create table sales.longer (id int primary key, n int, region varchar(20), body text);
          ${kind === 'postgres' ? `${numbers} insert into sales.longer ${fill}` : `set max_recursive_iterations = 100000; insert into sales.longer ${numbers} ${fill}`}`,
      );
      warehouses.set(kind, { warehouse, connectorId: await world.connect(warehouse) });
    }
  });

  const ofTenant = (method: string, end: string, body?: unknown) =>
    done(world.tenant.admin.call(method, `${world.tenant.base}/${end}`, body));
  const granted =
    (fields: Record<string, unknown> = {}, to?: { id: string }) =>
    async (person: Person) =>
      world.grant(to ?? person, path, { preset_id: exporter, ...fields });
  const revoke = (id: string) => ofTenant('POST', `grants/${id}/revoke`, {});
  const visit = (person: Person) =>
    tokenThrough(world.server, person, `${world.tenant.slug}/${world.app.slug}`);

  const rights: Record<string, (person: Person) => Promise<Right>> = {
    'a grant that is revoked': async (person) => {
      const id = await granted()(person);
      return { token: person.token, remove: () => revoke(id) };
    },
    'a grant that is revoked, at the connector': async (person) => {
      const id = await granted()(person);
      const at = `/data/${world.tenant.slug}/_connectors/tables/${path}`;
      return { token: person.token, path: at, remove: () => revoke(id) };
    },
    'a grant that expires': async (person) => {
      const expires = Date.now() + 4_000;
      await granted({ expires_at: new Date(expires).toISOString() })(person);
      return { token: person.token, remove: () => Bun.sleep(Math.max(0, expires - Date.now())) };
    },
    'a role that is removed': async (person) => {
      const roles = `${world.app.base}/roles`;
      await done(world.owner.call('POST', roles, { role: 'reader', user: person.id }));
      return {
        token: await visit(person),
        remove: () => done(world.owner.call('DELETE', `${roles}/reader/people/${person.id}`)),
      };
    },
    'an attribute that is removed': async (person) => {
      const set = (region: string) => ofTenant('PATCH', `members/${person.id}`, { attributes: { region } });
      await set('eu');
      return { token: await visit(person), remove: () => set('') };
    },
    'a group that is left': async (person) => {
      const name = `g-${person.id.slice(-12)}`;
      const { id } = await ofTenant('POST', 'groups', { name, display_name: name });
      await ofTenant('POST', `groups/${name}/members`, { user_id: person.id });
      await granted({ subject_kind: 'group' }, { id })(person);
      return { token: person.token, remove: () => ofTenant('DELETE', `groups/${name}/members/${person.id}`) };
    },
    'a group that is deleted': async (person) => {
      const name = `g-${person.id.slice(-12)}`;
      const { id } = await ofTenant('POST', 'groups', { name, display_name: name });
      await ofTenant('POST', `groups/${name}/members`, { user_id: person.id });
      await granted({ subject_kind: 'group' }, { id })(person);
      return { token: person.token, remove: () => ofTenant('DELETE', `groups/${name}`) };
    },
    'a preset that loses its actions': async (person) => {
      const preset_id = await world.preset('read', 'export');
      await granted({ preset_id })(person);
      return {
        token: person.token,
        remove: () => ofTenant('PATCH', `presets/${preset_id}`, { actions: ['other'] }),
      };
    },
    'a policy that is enforced': async (person) => {
      await granted()(person);
      let id = '';
      return {
        token: person.token,
        remove: async () => {
          id = await world.policy(path, { enforced: true, row_filter: 'n=lt.0' });
        },
        restore: () => ofTenant('DELETE', `access-policies/${id}`),
      };
    },
    'a rule that changes': async (person) => {
      const access = `${world.tables}/long/access`;
      const { read } = await done(world.owner.call('GET', access));
      const put = (rules: string[]) => done(world.owner.call('PUT', access, { read: rules }));
      await ofTenant('PATCH', `members/${person.id}`, { attributes: { region: 'eu' } });
      return { token: await visit(person), remove: () => put(['app']), restore: () => put(read) };
    },
  };

  for (const kind of size.kinds ?? []) {
    const at = () => `/data/${world.tenant.slug}/_connectors/${kind}/sales/longer`;
    const ofKind = () => ({
      connector_id: warehouses.get(kind)!.connectorId,
      scope_resource_paths: ['sales/longer'],
    });
    const outside =
      (give: (person: Person) => Promise<Omit<Right, 'token' | 'path'>>) => async (person: Person) => ({
        token: person.token,
        path: at(),
        ...(await give(person)),
      });
    rights[`a grant on ${kind} that is revoked`] = outside(async (person) => {
      const id = await granted(ofKind())(person);
      return { remove: () => revoke(id) };
    });
    rights[`a grant on ${kind} that expires`] = outside(async (person) => {
      const expires = Date.now() + 4_000;
      await granted({ ...ofKind(), expires_at: new Date(expires).toISOString() })(person);
      return { remove: () => Bun.sleep(Math.max(0, expires - Date.now())) };
    });
    rights[`a group with a grant on ${kind} that is left`] = outside(async (person) => {
      const name = `g-${person.id.slice(-12)}`;
      const { id } = await ofTenant('POST', 'groups', { name });
      await ofTenant('POST', `groups/${name}/members`, { user_id: person.id });
      await granted({ ...ofKind(), subject_kind: 'group' }, { id })(person);
      return { remove: () => ofTenant('DELETE', `groups/${name}/members/${person.id}`) };
    });
    rights[`a policy on ${kind} that is enforced`] = outside(async (person) => {
      const { connector_id } = ofKind();
      await granted(ofKind())(person);
      let id = '';
      return {
        remove: async () => {
          id = await world.policy('', { connector_id, enforced: true, row_filter: 'n=lt.0' });
        },
        restore: () => ofTenant('DELETE', `access-policies/${id}`),
      };
    });
  }

  test.each(Object.keys(rights).filter((name) => size.only?.includes(name) ?? true))(
    '%s shows no row a second later, on any server, and its exports are cut',
    async (name) => {
      const right = await rights[name]!(await newMember(world.tenant));
      const at = right.path ?? `${world.data}/long`;
      const calls = servers.map((server) => caller(server, bearer(right), at));
      const asks: ((call: (typeof calls)[number]) => Promise<[Answered, boolean]>)[] = [
        async (call) => {
          const answer = await call('GET', '?per_page=1&select=id');
          return [answer, answer.body.data?.length > 0];
        },
        async (call) => {
          const answer = await call('GET', '/_count?n=lt.3');
          return [answer, answer.body.count > 0];
        },
      ];
      const streams = servers.map((server) => rawStream(server, at, bearer(right)));
      const begun = streams.map(async (stream) => {
        await until('rows come', async () => stream.bytes() > 100_000);
        stream.pause();
      });
      await Promise.all(begun);
      try {
        const { successes, refusals, odd, late, lastMs } = await revokeUnderLoad({
          clients: Array.from({ length: size.clientsCount }, (_, client) =>
            asks.map((ask) => async () => {
              const [{ status }, isSeen] = await ask(calls[client % calls.length]!);
              if (isSeen) return 'works';
              return [200, 403, 404].includes(status) ? 'refused' : String(status);
            }),
          ),
          remove: right.remove,
        });
        for (const stream of streams) stream.resume();
        const ends = await Promise.all(streams.map((stream) => stream.ended));
        const lines = streams.map((stream) => stream.text().split('\n').length);
        console.log(
          `policy revocation: ${name}: ${successes} successes, the last ${lastMs} ms after the removal; ${refusals} refusals; exports cut after ${lines.join(' and ')} of ${rowsCount} lines`,
        );
        expect({ late, odd }).toEqual({ late: 0, odd: {} });
        expect(lastMs).toBeLessThanOrEqual(1_000);
        expect(new Set(ends)).toEqual(new Set(['cut']));
        expect(Math.max(...lines)).toBeLessThan(rowsCount);
      } finally {
        await right.restore?.();
      }
    },
  );
}
