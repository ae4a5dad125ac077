import { describe, expect, test } from 'bun:test';
import { type AuthorizationEnv, outcome, withoutRequestId } from '../support/authorization.ts';
import { addressOf, type Letter, letters, tenantParameterOf } from '../support/document.ts';
import { grant, privateApp, session, siteUrl } from '../support/fixtures.ts';
import { newCallInput, unchangedInputs } from '../support/operation-inputs.ts';
import { newApp } from '../support/people.ts';
import { everyNth } from '../support/until.ts';
import type { World } from '../support/world.ts';

/** Records of others, private apps and other tenants: the answers do not reveal that they exist. */
export function hiddenRecords(env: AuthorizationEnv, nth: number): void {
  test('a site opens to the people of its visibility, and to no admin beyond that', async () => {
    const reached = {
      private: ['O', 'C'],
      invite_only: ['O', 'C'],
      public: ['O', 'C', 'A', 'M'],
      internet: ['O', 'C', 'A', 'M', 'X'],
    } as const;
    for (const [visibility, those] of Object.entries(reached)) {
      const target = await siteUrl(env.world, visibility as keyof typeof reached);
      for (const letter of ['O', 'C', 'A', 'M', 'X'] as const) {
        const answer = await env.world.as[letter]('POST', '/api/v1/static/auth/start', { target });
        const expected = (those as readonly string[]).includes(letter) ? '200' : '404 not_found';
        expect([visibility, letter, outcome(answer)]).toEqual([visibility, letter, expected]);
      }
    }
  });

  describe('own records', () => {
    test("a member gets the 404 of an unknown record for somebody else's session or token", async () => {
      const { base } = env.world.tenant;
      const token = await env.world.as.O('POST', `${base}/pats`, { name: 'of the owner' });
      const theirs = [
        `/api/v1/me/sessions/${(await session(env.world, env.world.people.O)).sessionID}`,
        `${base}/pats/${token.body.id}`,
      ];
      const absent = ['/api/v1/me/sessions/nowhere', `${base}/pats/${Bun.randomUUIDv7()}`];
      for (const [at, path] of theirs.entries()) {
        const answer = await env.world.as.M('DELETE', path);
        expect([path, answer.status, answer.body.code]).toEqual([path, 404, 'not_found']);
        expect(withoutRequestId(answer)).toEqual(
          withoutRequestId(await env.world.as.M('DELETE', absent[at]!)),
        );
        expect((await env.world.as.O('DELETE', path)).status).toBeLessThan(300);
      }
    });

    test("an admin can revoke anybody's token, but not end anybody else's session", async () => {
      const { base } = env.world.tenant;
      const token = await env.world.as.M('POST', `${base}/pats`, { name: 'of the member' });
      expect((await env.world.as.A('DELETE', `${base}/pats/${token.body.id}`)).body.status).toBe('revoked');
      const { sessionID } = await session(env.world, env.world.people.M);
      expect((await env.world.as.A('DELETE', `/api/v1/me/sessions/${sessionID}`)).status).toBe(404);
    });

    test('lists of own records contain nothing of others', async () => {
      const { base } = env.world.tenant;
      await env.world.as.O('POST', `${base}/pats`, { name: 'not for others' });
      await grant(env.world);
      const ids = async (path: string, letter: Letter, field: string) => {
        const { body } = await env.world.as[letter]('GET', path);
        return new Set((body.items ?? body).map((item: Record<string, string>) => item[field]));
      };
      expect([...(await ids(`${base}/pats`, 'O', 'user_id'))]).toEqual([env.world.people.O.id]);
      const [sessions, others] = [
        await ids('/api/v1/me/sessions', 'O', 'id'),
        await ids('/api/v1/me/sessions', 'C', 'id'),
      ];
      expect(sessions.isDisjointFrom(others)).toBeTrue();
      expect([...(await ids(`${base}/me/grants`, 'M', 'subject_id'))]).toEqual([env.world.people.M.id]);
      expect((await env.world.as.M('GET', `${base}/pats?all=true`)).status).toBe(403);
      const everyones = await ids(`${base}/pats?all=true&per_page=200`, 'A', 'user_id');
      expect(everyones.has(env.world.people.O.id)).toBeTrue();
    });

    test('a member can check only their own access', async () => {
      const { params, body } = await newCallInput('access.check', env.world, 'O');
      const path = `/api/v1/tenants/${params.tenantID}/access/check`;
      const about = (await env.world.as.M('POST', path, body)).body;
      expect([about.status, about.code]).toEqual([403, 'forbidden']);
    });
  });

  describe('an app', () => {
    test('that is private looks to a member like an unknown app, at every operation', async () => {
      const below = env.document.operations.filter(({ path }) => path.includes('{app}'));
      // One way to resolve an app serves all operations: each of them meets one kind of unknown app.
      const unknown = [Bun.randomUUIDv7(), 'no-such-app', 'No Such App'];
      for (const [at, operation] of everyNth(below, nth).entries()) {
        const { params, body } = await env.inputOfRefused(operation, 'M');
        const ask = async (app: string) =>
          withoutRequestId(
            await env.world.as.M(operation.method, addressOf(operation, { ...params, app }), body),
          );
        const hidden = await ask(params.app!);
        expect([operation.id, hidden.status, hidden.body.code]).toEqual([operation.id, 404, 'not_found']);
        expect([operation.id, await ask(unknown[at % unknown.length]!)]).toEqual([operation.id, hidden]);
      }
      const { body } = await env.world.as.M('GET', `${env.world.tenant.base}/apps?per_page=200`);
      expect(body.items.filter(({ id }: { id: string }) => id === env.world.app.id)).toEqual([]);
    });

    test('can be left by a co-owner, who cannot remove others', async () => {
      const { tenant, people, as } = env.world;
      const coOwners = `${tenant.base}/apps/${(await privateApp(env.world, people.O)).app}/co-owners`;
      expect((await as.O('POST', coOwners, { user_id: people.M.email })).status).toBe(201);
      for (const other of [people.M.id, people.O.id]) {
        const { status, body } = await as.C('DELETE', `${coOwners}/${other}`);
        expect([status, body.code]).toEqual([403, 'forbidden']);
      }
      expect((await as.C('DELETE', `${coOwners}/${people.C.id}`)).status).toBe(204);
      expect((await as.C('GET', coOwners)).status).toBe(404);
      expect((await as.O('DELETE', `${coOwners}/${people.C.id}`)).status).toBe(404);
    });
  });

  describe('hidden records', () => {
    test('an outsider cannot distinguish a tenant from an unknown one, at any operation', async () => {
      let compared = 0;
      const unknown = [Bun.randomUUIDv7(), 'no-such-tenant', 'No Such Tenant'];
      for (const [at, operation] of everyNth(env.document.operations, nth).entries()) {
        const name = tenantParameterOf(operation);
        if (name === undefined) continue;
        const { params, body } = await env.inputOfRefused(operation, 'X');
        const ask = async (tenant: string) => {
          const address = addressOf(operation, { ...params, [name]: tenant });
          return withoutRequestId(await env.world.as.X(operation.method, address, body));
        };
        const exists = await ask(env.world.tenant.id);
        const others = [env.world.tenant.slug, unknown[at % unknown.length]!];
        const answers = await Promise.all(others.map(ask));
        expect([operation.id, answers]).toEqual([operation.id, others.map(() => exists)]);
        compared += others.length;
      }
      console.log(`authorization: ${compared} answers to outsiders compared, all equal`);
    });

    test('a record of another tenant looks to an admin like an unknown one', async () => {
      const inputOfForeign = unchangedInputs(await foreignWorld());
      // Users belong to no tenant: an admin may add any of them by id.
      const elsewhere = env.document.operations.filter(
        ({ id, path }) => /\{tenant(ID)?\}.*\{\w+\}/.test(path) && id !== 'members.set',
      );
      expect(elsewhere.length).toBeGreaterThan(10);
      for (const operation of everyNth(elsewhere, nth)) {
        const theirs = await inputOfForeign(operation.id, 'A');
        const tenant = tenantParameterOf(operation)!;
        const name = Object.keys(theirs.params).find(
          (it) => it !== tenant && operation.path.includes(`{${it}}`),
        )!;
        const ask = async (id: string) => {
          const params = { ...theirs.params, [tenant]: env.world.tenant.id, [name]: id };
          return withoutRequestId(
            await env.world.as.A(operation.method, addressOf(operation, params), theirs.body),
          );
        };
        const answer = await ask(theirs.params[name]!);
        expect([operation.id, answer.status, answer.body.code]).toEqual([operation.id, 404, 'not_found']);
        expect([operation.id, answer]).toEqual([operation.id, await ask(Bun.randomUUIDv7())]);
      }
    });
  });

  /** The same table of inputs, in the tenant that the outsider is the admin of. */
  async function foreignWorld(): Promise<World> {
    const outsider = env.world.people.X;
    const [own] = (await outsider.call('GET', '/api/v1/tenants')).body.items;
    await env.world.as.A('DELETE', `${env.world.tenant.base}/members/${env.world.bystanders.toRemove}`);
    const everyone = <K extends string>(keys: readonly K[]) =>
      Object.fromEntries(keys.map((key) => [key, outsider])) as Record<K, typeof outsider>;
    return {
      ...env.world,
      tenant: { ...env.world.tenant, ...own, base: `/api/v1/tenants/${own.id}`, admin: outsider },
      as: Object.fromEntries(letters.map((letter) => [letter, outsider.call])) as World['as'],
      people: everyone(['O', 'C', 'A', 'M', 'X']),
      ownerFor: () => outsider,
      app: await newApp({ base: `/api/v1/tenants/${own.id}` }, { owner: outsider, coOwner: outsider }),
    };
  }
}
