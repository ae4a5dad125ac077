import { beforeAll, describe, expect, test } from 'bun:test';
import {
  type ApiDocument,
  addressOf,
  type Letter,
  letters,
  type Operation,
  readDocument,
  tenantParameterOf,
} from '../support/document.ts';
import { privateApp, session, siteUrl } from '../support/fixtures.ts';
import {
  type CallInput,
  differsByCaller,
  knownOperations,
  newCallInput,
} from '../support/operation-inputs.ts';
import { type Answered, caller, newApp } from '../support/people.ts';
import { everyNth, until } from '../support/until.ts';

import { newWorld, type World } from '../support/world.ts';

export function authorization({ executes, nth }: { executes: 'first' | 'all'; nth: number }): void {
  // Each cell of a table that has grown long makes what it aims at anew.
  let world: World;
  let document: ApiDocument;
  beforeAll(async () => {
    world = await newWorld();
    document = await readDocument(world.tenant.server);
  });

  async function call(
    operation: Operation,
    letter: Letter,
    aim: CallInput,
    query: Record<string, string> = {},
  ): Promise<Answered> {
    return world.as[letter](operation.method, addressOf(operation, aim.params, query), aim.body);
  }

  const untouched = new Map<string, Promise<CallInput>>();

  /**
   * What one who is refused aims at, the same each time: a call that took it away would be a difference of its own. Where
   * that depends on who calls, each has their own.
   */
  function aimOfRefused({ id }: Operation, letter: Letter): Promise<CallInput> {
    const key = differsByCaller(id) ? `${id} ${letter}` : id;
    const found = untouched.get(key) ?? newCallInput(id, world, letter);
    untouched.set(key, found);
    return found;
  }

  /** What the table promises for one cell, as status and code. */
  function promised(operation: Operation, letter: Letter): string {
    const cell = operation.who[letter];
    if (cell === 'v' && operation.id === 'sites.startAuth') return String(operation.success);
    // The app of the inputs is private, and nobody was given a grant for a table of it.
    if (cell === 'v' || cell === 'g') return '404 not_found';
    // The token of P is for rows.
    if (cell === 'd') return '403 forbidden';
    if (cell !== 'n') return String(operation.success);
    if (letter === 'N') return '401 unauthenticated';
    if (letter === 'P') return '403 login_required';
    // What is an app's is there for whom the app is, also where the path does not name the app.
    if (letter === 'M' && /\{(?:app|request)\}/.test(operation.path)) return '404 not_found';
    if (letter !== 'X') return '403 forbidden';
    const noun = operation.id.split('.')[0]!;
    // The specification answers 403 where permission grants are concerned.
    return ['grants', 'policies', 'connectors', 'presets', 'access'].includes(noun)
      ? '403 forbidden'
      : '404 not_found';
  }

  /**
   * Whether a cell's change is carried out. A preview asks for the same right and takes nothing away, so that one thing to
   * aim at is enough for all who may: with `first` only the first of them executes.
   */
  function isExecuted(operation: Operation, letter: Letter): boolean {
    const isAllowed = (it: Letter) => promised(operation, it).startsWith('2');
    if (!operation.mutates || !isAllowed(letter)) return false;
    return executes === 'all' || letters.find(isAllowed) === letter;
  }

  function answered({ status, headers, body }: Answered): string {
    if (!headers.get('x-request-id')) return `${status} without a request id`;
    return status < 400 ? String(status) : `${status} ${body.code}`;
  }

  /** RFC 9457, with a code of the published list. */
  function isProblem({ status, headers, body }: Answered): boolean {
    return (
      headers.get('content-type')?.startsWith('application/problem+json') === true &&
      body.status === status &&
      document.codes.has(body.code) &&
      [body.type, body.title, body.detail].every((text) => typeof text === 'string' && text !== '') &&
      body.request_id === headers.get('x-request-id')
    );
  }

  const withoutRequestId = ({ status, body }: Answered) => ({ status, body: { ...body, request_id: '' } });

  describe('the authorization table', () => {
    test('has inputs in the tests for every operation of the document, and for no other', () => {
      expect([...knownOperations].sort()).toEqual(document.operations.map(({ id }) => id).sort());
    });

    test('holds in every cell when each principal calls each operation', async () => {
      const differences: string[] = [];
      let cells = 0;
      const check = async (operation: Operation, letter: Letter) => {
        const expected = promised(operation, letter);
        const executes = isExecuted(operation, letter);
        // One who reads or previews takes nothing away either.
        const aim = executes
          ? await newCallInput(operation.id, world, letter)
          : await aimOfRefused(operation, letter);
        const isPreview = operation.mutates && !executes && expected.startsWith('2');
        const answer = await call(operation, letter, aim, isPreview ? { dry_run: 'true' } : {});
        const actual = answered(answer);
        const cell = `${operation.id} by ${letter}`;
        const right = isPreview ? '200' : expected;
        if (actual !== right) differences.push(`${cell}: ${actual} instead of ${right}`);
        if (answer.status >= 400 && !isProblem(answer)) differences.push(`${cell}: not a proper problem`);
        if (!operation.statuses.includes(answer.status))
          differences.push(`${cell}: ${answer.status} is not in the document`);
        cells += 1;
      };
      const operations = everyNth(document.operations, nth);
      for (const operation of operations)
        await Promise.all(letters.map((letter) => check(operation, letter)));
      console.log(`authorization: ${operations.length} operations, ${cells} cells called`);
      expect(differences).toEqual([]);
      expect(cells).toBe(operations.length * letters.length);
    });

    test('a cell "with a table grant" needs a grant with the right action', async () => {
      const granted = document.operations.filter(({ who }) => Object.values(who).includes('g'));
      expect(granted.map(({ id }) => id).sort()).toEqual([
        'rows.count',
        'rows.delete',
        'rows.get',
        'rows.insert',
        'rows.list',
        'rows.update',
      ]);
      for (const operation of granted) {
        const [right, other] = operation.mutates ? ['write', 'read'] : ['read', 'write'];
        // Whoever may only write is told that it is done, and not what the row is now.
        const brief = operation.id === 'rows.update' ? '204' : String(operation.success);
        for (const letter of letters.filter((it) => operation.who[it] === 'g')) {
          for (const [actions, expected] of [
            [[other], '403 forbidden'],
            [[right], brief],
            [['read', 'write'], String(operation.success)],
          ]) {
            const { params, body } = await newCallInput(operation.id, world, letter);
            const grants = `${world.tenant.base}/apps/${params.app}/tables/${params.table}/grants`;
            const grant = { principal_type: 'user', principal_id: world.ownerFor(letter).id, actions };
            const issued = await world.as.O('POST', grants, grant);
            const ask = async () =>
              answered(await world.as[letter](operation.method, addressOf(operation, params), body));
            expect([operation.id, letter, actions, await ask()]).toEqual([
              operation.id,
              letter,
              actions,
              expected,
            ]);
            expect((await world.as.O('DELETE', `${grants}/${issued.body.id}`)).status).toBe(204);
            await until('the grant is of no use any more', async () => (await ask()) === '404 not_found');
          }
        }
      }
    });

    test('a cell "with the action deploy" needs a token of an owner with that action, for that app', async () => {
      const tokenCall = async (actions: string[], more: object = {}, by = world.people.O) => {
        const { body } = await by.call('POST', `${world.tenant.base}/pats`, {
          name: 'deploys',
          actions,
          ...more,
        });
        return { id: body.id, call: caller(world.tenant.server, { 'x-api-key': body.secret }) };
      };
      const deploys = await tokenCall(['deploy']);
      const others = await tokenCall(['read', 'write', 'code']);
      const elsewhere = await tokenCall(['deploy'], { apps: [world.app.id] });
      const ofMember = await tokenCall(['deploy'], {}, world.people.M);
      for (const operation of document.operations.filter(({ who }) => who.P === 'd')) {
        const { params, body } = await newCallInput(operation.id, world, 'O');
        const query: Record<string, string> = operation.mutates ? { dry_run: 'true' } : {};
        const ask = async ({ call }: typeof deploys) =>
          answered(await call(operation.method, addressOf(operation, params, query), body));
        expect([operation.id, await ask(others)]).toEqual([operation.id, '403 forbidden']);
        expect([operation.id, await ask(elsewhere)]).toEqual([operation.id, '404 not_found']);
        expect([operation.id, await ask(ofMember)]).toEqual([operation.id, '404 not_found']);
        const limited = await tokenCall(['deploy'], { apps: [params.app] });
        expect([operation.id, await ask(limited)]).toEqual([operation.id, '200']);
        await world.as.O('DELETE', `${world.tenant.base}/pats/${limited.id}`);
        const done = await deploys.call(operation.method, addressOf(operation, params), body);
        expect([operation.id, answered(done)]).toEqual([operation.id, String(operation.success)]);
      }
      for (const operation of document.operations.filter(({ who }) => who.P === 'n')) {
        const { params, body } = await aimOfRefused(operation, 'P');
        const answer = await deploys.call(operation.method, addressOf(operation, params), body);
        expect([operation.id, answered(answer)]).toEqual([operation.id, '403 login_required']);
      }
      for (const operation of document.operations.filter(({ path }) => path.startsWith('/data/'))) {
        const { params, body } = await newCallInput(operation.id, world, 'O');
        const answer = await deploys.call(operation.method, addressOf(operation, params), body);
        expect([operation.id, answered(answer)]).toEqual([operation.id, '404 not_found']);
      }
    });

    test('an operation without a row is public and gives every principal the same status', async () => {
      const { body } = await world.as.N('GET', '/api/v1/openapi.json');
      interface Read {
        security?: unknown[];
        parameters?: { in?: string; required?: boolean; $ref?: string }[];
        'x-authorization'?: unknown;
      }
      const resolved = ({ $ref, ...it }: { in?: string; required?: boolean; $ref?: string }) =>
        $ref === undefined ? it : body.components.parameters[$ref.split('/').at(-1) ?? ''];
      const without = Object.entries<Record<string, Read>>(body.paths)
        .filter(([, methods]) => methods.get && !methods.get['x-authorization'])
        .map(([path, { get }]) => ({
          path,
          security: get?.security,
          needsMore: get?.parameters?.map(resolved).some((it) => it.in === 'query' && it.required) ?? false,
        }));
      // What OpenID Connect says of who has signed in, it says to whom holds their token.
      // `scim.test.ts` calls the operations for directories, which have a credential of their own.
      const open = without.filter(({ path }) => path !== '/oauth/me' && !path.startsWith('/scim/v2/'));
      expect(without.find(({ path }) => path === '/oauth/me')?.security).toEqual([{ login: [] }]);
      expect((await world.as.N('GET', '/oauth/me')).status).toBe(401);
      expect(open.map(({ path }) => path).sort()).toEqual([
        '/.well-known/svc-user-keys.json',
        '/api/v1/openapi.json',
        '/git-host/setup',
        '/healthz',
        '/icons/{iconID}',
        '/login',
        '/login/done',
        '/oauth/.well-known/openid-configuration',
        '/oauth/auth',
        '/oauth/device',
        '/oauth/jwks',
        '/oauth/session/end',
        '/objects/{token}/{name}',
        '/readyz',
        '/schemas/site.json',
        '/schemas/svc.yaml.json',
        '/site-auth',
      ]);
      for (const { path, security, needsMore } of open) {
        expect([path, security]).toEqual([path, []]);
        const statuses = await Promise.all(
          letters.map(async (letter) => (await world.as[letter]('GET', path)).status),
        );
        // Where one of many is meant, this is the name of none.
        const isWhole = !path.includes('{') && !needsMore;
        expect([path, new Set(statuses).size, statuses[0]! < 400]).toEqual([path, 1, isWhole]);
      }
    });

    test('a refused change changes nothing', async () => {
      // Runs and deployments go on meanwhile: what a refused request has done is told by its own id.
      const requestId = `refused-${Bun.randomUUIDv7()}`;
      for (const operation of everyNth(
        document.operations.filter(({ mutates }) => mutates),
        nth,
      )) {
        const { params, body } = await aimOfRefused(operation, 'A');
        for (const letter of letters.filter((it) => operation.who[it] === 'n')) {
          const ask = async (more: Record<string, string>) =>
            answered(
              await world.as[letter](operation.method, addressOf(operation, params, more), body, {
                'x-request-id': requestId,
              }),
            );
          // A preview asks for the same right as the change itself.
          expect([operation.id, letter, await ask({})]).toEqual([
            operation.id,
            letter,
            await ask({ dry_run: 'true' }),
          ]);
        }
        expect([operation.id, await entriesOf(requestId)]).toEqual([operation.id, []]);
      }
      const made = { name: 'Allowed', slug: `a-${Bun.randomUUIDv7().slice(-12)}` };
      await world.as.O('POST', `${world.tenant.base}/apps`, made, { 'x-request-id': requestId });
      expect(await entriesOf(requestId)).toEqual(['apps.create']);
    });
  });

  test('a site opens to the people of its visibility, and to no admin beyond that', async () => {
    const reached = {
      private: ['O', 'C'],
      invite_only: ['O', 'C'],
      public: ['O', 'C', 'A', 'M'],
      internet: ['O', 'C', 'A', 'M', 'X'],
    } as const;
    for (const [visibility, those] of Object.entries(reached)) {
      const target = await siteUrl(world, visibility as keyof typeof reached);
      for (const letter of ['O', 'C', 'A', 'M', 'X'] as const) {
        const answer = await world.as[letter]('POST', '/api/v1/static/auth/start', { target });
        const expected = (those as readonly string[]).includes(letter) ? '200' : '404 not_found';
        expect([visibility, letter, answered(answer)]).toEqual([visibility, letter, expected]);
      }
    }
  });

  describe('own records', () => {
    test("a member gets the 404 of an unknown record for somebody else's session or token", async () => {
      const { base } = world.tenant;
      const token = await world.as.O('POST', `${base}/pats`, { name: 'of the owner' });
      const theirs = [
        `/api/v1/me/sessions/${(await session(world, world.people.O)).sessionID}`,
        `${base}/pats/${token.body.id}`,
      ];
      const absent = ['/api/v1/me/sessions/nowhere', `${base}/pats/${Bun.randomUUIDv7()}`];
      for (const [at, path] of theirs.entries()) {
        const answer = await world.as.M('DELETE', path);
        expect([path, answer.status, answer.body.code]).toEqual([path, 404, 'not_found']);
        expect(withoutRequestId(answer)).toEqual(withoutRequestId(await world.as.M('DELETE', absent[at]!)));
        expect((await world.as.O('DELETE', path)).status).toBeLessThan(300);
      }
    });

    test("an admin can revoke anybody's token, but not end anybody else's session", async () => {
      const { base } = world.tenant;
      const token = await world.as.M('POST', `${base}/pats`, { name: 'of the member' });
      expect((await world.as.A('DELETE', `${base}/pats/${token.body.id}`)).body.status).toBe('revoked');
      const { sessionID } = await session(world, world.people.M);
      expect((await world.as.A('DELETE', `/api/v1/me/sessions/${sessionID}`)).status).toBe(404);
    });

    test('lists of own records contain nothing of others', async () => {
      const { base } = world.tenant;
      await world.as.O('POST', `${base}/pats`, { name: 'not for others' });
      const ids = async (path: string, letter: Letter, field: string) => {
        const { body } = await world.as[letter]('GET', path);
        return new Set((body.items ?? body).map((item: Record<string, string>) => item[field]));
      };
      expect([...(await ids(`${base}/pats`, 'O', 'user_id'))]).toEqual([world.people.O.id]);
      const [sessions, others] = [
        await ids('/api/v1/me/sessions', 'O', 'id'),
        await ids('/api/v1/me/sessions', 'C', 'id'),
      ];
      expect(sessions.isDisjointFrom(others)).toBeTrue();
      expect([...(await ids(`${base}/me/grants`, 'M', 'subject_id'))]).toEqual([world.people.M.id]);
      expect((await world.as.M('GET', `${base}/pats?all=true`)).status).toBe(403);
      const everyones = await ids(`${base}/pats?all=true&per_page=200`, 'A', 'user_id');
      expect(everyones.has(world.people.O.id)).toBeTrue();
    });

    test('a member can check only their own access', async () => {
      const { params, body } = await newCallInput('access.check', world, 'O');
      const path = `/api/v1/tenants/${params.tenantID}/access/check`;
      const about = (await world.as.M('POST', path, body)).body;
      expect([about.status, about.code]).toEqual([403, 'forbidden']);
    });
  });

  describe('an app', () => {
    test('that is private looks to a member like an unknown app, at every operation', async () => {
      const below = document.operations.filter(({ path }) => path.includes('{app}'));
      for (const operation of everyNth(below, nth)) {
        const { params, body } = await aimOfRefused(operation, 'M');
        const ask = async (app: string) =>
          withoutRequestId(
            await world.as.M(operation.method, addressOf(operation, { ...params, app }), body),
          );
        const hidden = await ask(params.app!);
        expect([operation.id, hidden.status, hidden.body.code]).toEqual([operation.id, 404, 'not_found']);
        const others = [Bun.randomUUIDv7(), 'no-such-app', 'No Such App'];
        expect([operation.id, await Promise.all(others.map(ask))]).toEqual([
          operation.id,
          others.map(() => hidden),
        ]);
      }
      const { body } = await world.as.M('GET', `${world.tenant.base}/apps?per_page=200`);
      expect(body.items.filter(({ id }: { id: string }) => id === world.app.id)).toEqual([]);
    });

    test('can be left by a co-owner, who cannot remove others', async () => {
      const { tenant, people, as } = world;
      const coOwners = `${tenant.base}/apps/${(await privateApp(world, people.O)).app}/co-owners`;
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
      for (const operation of everyNth(document.operations, nth)) {
        const name = tenantParameterOf(operation);
        if (name === undefined) continue;
        const { params, body } = await aimOfRefused(operation, 'X');
        const ask = async (tenant: string) => {
          const address = addressOf(operation, { ...params, [name]: tenant });
          return withoutRequestId(await world.as.X(operation.method, address, body));
        };
        const exists = await ask(world.tenant.id);
        const others = [world.tenant.slug, Bun.randomUUIDv7(), 'no-such-tenant', 'No Such Tenant'];
        const answers = await Promise.all(others.map(ask));
        expect([operation.id, answers]).toEqual([operation.id, others.map(() => exists)]);
        compared += others.length;
      }
      console.log(`authorization: ${compared} answers to outsiders compared, all equal`);
    });

    test('a record of another tenant looks to an admin like an unknown one', async () => {
      const foreign = await foreignWorld();
      // Users belong to no tenant: an admin may add any of them by id.
      const elsewhere = document.operations.filter(
        ({ id, path }) => /\{tenant(ID)?\}.*\{\w+\}/.test(path) && id !== 'members.set',
      );
      expect(elsewhere.length).toBeGreaterThan(10);
      for (const operation of everyNth(elsewhere, nth)) {
        const theirs = await newCallInput(operation.id, foreign, 'A');
        const tenant = tenantParameterOf(operation)!;
        const name = Object.keys(theirs.params).find(
          (it) => it !== tenant && operation.path.includes(`{${it}}`),
        )!;
        const ask = async (id: string) => {
          const params = { ...theirs.params, [tenant]: world.tenant.id, [name]: id };
          return withoutRequestId(
            await world.as.A(operation.method, addressOf(operation, params), theirs.body),
          );
        };
        const answer = await ask(theirs.params[name]!);
        expect([operation.id, answer.status, answer.body.code]).toEqual([operation.id, 404, 'not_found']);
        expect([operation.id, answer]).toEqual([operation.id, await ask(Bun.randomUUIDv7())]);
      }
    });
  });

  /** Among the newest, which of what was done by requests of this id. */
  async function entriesOf(requestId: string): Promise<string[]> {
    const { items } = (await world.as.A('GET', `${world.tenant.base}/audit?per_page=200`)).body;
    return items
      .filter(({ request_id }: { request_id: string }) => request_id === requestId)
      .map(({ action }: { action: string }) => action);
  }

  /** The same table of inputs, in the tenant that the outsider is the admin of. */
  async function foreignWorld(): Promise<World> {
    const outsider = world.people.X;
    const [own] = (await outsider.call('GET', '/api/v1/tenants')).body.items;
    await world.as.A('DELETE', `${world.tenant.base}/members/${world.bystanders.toRemove}`);
    const everyone = <K extends string>(keys: readonly K[]) =>
      Object.fromEntries(keys.map((key) => [key, outsider])) as Record<K, typeof outsider>;
    return {
      ...world,
      tenant: { ...world.tenant, ...own, base: `/api/v1/tenants/${own.id}`, admin: outsider },
      as: Object.fromEntries(letters.map((letter) => [letter, outsider.call])) as World['as'],
      people: everyone(['O', 'C', 'A', 'M', 'X']),
      ownerFor: () => outsider,
      app: await newApp({ base: `/api/v1/tenants/${own.id}` }, { owner: outsider, coOwner: outsider }),
    };
  }
}
