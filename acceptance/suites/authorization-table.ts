import { describe, expect, test } from 'bun:test';
import { type AuthorizationEnv, outcome } from '../support/authorization.ts';
import { queryDatabase } from '../support/database.ts';
import { addressOf, type Letter, letters, type Operation } from '../support/document.ts';
import { type CallInput, knownOperations, newCallInput } from '../support/operation-inputs.ts';
import { type Answered, caller } from '../support/people.ts';
import { everyNth, until } from '../support/until.ts';

/** The status and code that the table requires for a cell. */
function required(operation: Operation, letter: Letter): string {
  const cell = operation.who[letter];
  if (cell === 'v' && operation.id === 'sites.startAuth') return String(operation.success);
  // The app of the inputs is private, and nobody has a grant on its tables.
  if (cell === 'v' || cell === 'g') return '404 not_found';
  // The token of P is for rows.
  if (cell === 'd') return '403 forbidden';
  if (cell !== 'n') return String(operation.success);
  if (letter === 'N') return '401 unauthenticated';
  if (letter === 'P') return '403 login_required';
  // Records of an app exist only for people who see the app, also where the path does not name the app.
  if (letter === 'M' && /\{(?:app|request)\}/.test(operation.path)) return '404 not_found';
  // A request for access is O's alone: for C it does not exist either.
  if (letter === 'C' && /^grantRequests\..*/.test(operation.id)) return '404 not_found';
  if (letter !== 'X') return '403 forbidden';
  const noun = operation.id.split('.')[0]!;
  // The specification answers 403 where permission grants are concerned.
  return ['grants', 'policies', 'connectors', 'presets', 'access'].includes(noun)
    ? '403 forbidden'
    : '404 not_found';
}

/** Every cell of the authorization table; with `first` only the first allowed caller of an operation executes. */
export function authorizationTable(
  env: AuthorizationEnv,
  { executes, nth }: { executes: 'first' | 'all'; nth: number },
): void {
  async function call(
    operation: Operation,
    letter: Letter,
    input: CallInput,
    query: Record<string, string> = {},
    headers: Record<string, string> = {},
  ): Promise<Answered> {
    const address = addressOf(operation, input.params, query);
    return env.world.as[letter](operation.method, address, input.body, headers);
  }

  /**
   * Whether a cell's change is executed. A preview needs the same permission and changes nothing: with `first` only the
   * first of the allowed callers executes, the others preview.
   */
  function isExecuted(operation: Operation, letter: Letter): boolean {
    const isAllowed = (it: Letter) => required(operation, it).startsWith('2');
    if (!operation.mutates || !isAllowed(letter)) return false;
    return executes === 'all' || letters.find(isAllowed) === letter;
  }

  /** RFC 9457, with a code of the published list. */
  function isProblem({ status, headers, body }: Answered): boolean {
    return (
      headers.get('content-type')?.startsWith('application/problem+json') === true &&
      body.status === status &&
      env.document.codes.has(body.code) &&
      [body.type, body.title, body.detail].every((text) => typeof text === 'string' && text !== '') &&
      body.request_id === headers.get('x-request-id')
    );
  }

  describe('the authorization table', () => {
    test('has inputs in the tests for every operation of the document, and for no other', () => {
      expect([...knownOperations].sort()).toEqual(env.document.operations.map(({ id }) => id).sort());
    });

    test('holds in every cell when each principal calls each operation, and a refused change changes nothing', async () => {
      // Runs and deployments continue meanwhile: changes of a refused request are found by its id.
      const requestId = `refused-${Bun.randomUUIDv7()}`;
      const differences: string[] = [];
      let cells = 0;
      const check = async (operation: Operation, letter: Letter) => {
        const expected = required(operation, letter);
        const executes = isExecuted(operation, letter);
        // Reads and previews change nothing either, so they share the target of refused calls.
        const input = executes
          ? await newCallInput(operation.id, env.world, letter)
          : await env.inputOfRefused(operation, letter);
        const isPreview = operation.mutates && !executes && expected.startsWith('2');
        const isRefused = !expected.startsWith('2');
        const headers: Record<string, string> = isRefused ? { 'x-request-id': requestId } : {};
        const answer = await call(operation, letter, input, isPreview ? { dry_run: 'true' } : {}, headers);
        const actual = outcome(answer);
        const cell = `${operation.id} by ${letter}`;
        if (isRefused && operation.mutates) {
          // A preview needs the same permission as the change itself.
          const previewed = outcome(await call(operation, letter, input, { dry_run: 'true' }, headers));
          if (previewed !== actual) differences.push(`${cell}: ${actual}, but its preview ${previewed}`);
        }
        const right = isPreview ? '200' : expected;
        if (actual !== right) differences.push(`${cell}: ${actual} instead of ${right}`);
        if (answer.status >= 400 && !isProblem(answer)) differences.push(`${cell}: not a proper problem`);
        if (!operation.statuses.includes(answer.status))
          differences.push(`${cell}: ${answer.status} is not in the document`);
        cells += 1;
      };
      const operations = everyNth(env.document.operations, nth);
      for (const operation of operations)
        await Promise.all(letters.map((letter) => check(operation, letter)));
      console.log(`authorization: ${operations.length} operations, ${cells} cells called`);
      expect(differences).toEqual([]);
      expect(cells).toBe(operations.length * letters.length);
      expect(await auditEntries(requestId)).toEqual([]);
      const allowed = { name: 'Allowed', slug: `a-${Bun.randomUUIDv7().slice(-12)}` };
      await env.world.as.O('POST', `${env.world.tenant.base}/apps`, allowed, { 'x-request-id': requestId });
      expect(await auditEntries(requestId)).toEqual(['apps.create']);
    });

    test('a cell "with a table grant" needs a grant with the right action', async () => {
      const granted = env.document.operations.filter(({ who }) => Object.values(who).includes('g'));
      expect(granted.map(({ id }) => id).sort()).toEqual([
        'files.sign',
        'people.list',
        'rows.aggregate',
        'rows.batch',
        'rows.changes',
        'rows.count',
        'rows.delete',
        'rows.deleteMany',
        'rows.get',
        'rows.history',
        'rows.insert',
        'rows.list',
        'rows.restore',
        'rows.restoreMany',
        'rows.trash',
        'rows.update',
        'rows.updateMany',
      ]);
      for (const operation of everyNth(granted, nth)) {
        // An upload is of use to who may write only, though it changes no row yet.
        const isWrite = operation.mutates || operation.id === 'files.sign';
        const [right, other] = isWrite ? ['write', 'read'] : ['read', 'write'];
        // A caller who may only write gets no content of the row.
        const brief = operation.id === 'rows.update' ? '204' : String(operation.success);
        // The filter of a change of many rows sees what the caller reads, and what is restored must be visible.
        const needsBoth = operation.id.endsWith('Many') || operation.id === 'rows.restore';
        const alone = needsBoth ? '403 forbidden' : brief;
        // Only owners of the app restore what requests of others have deleted.
        const both = operation.id === 'rows.restoreMany' ? '404 not_found' : String(operation.success);
        // The same for every caller, until one of them changes it.
        let input: CallInput | undefined;
        for (const letter of letters.filter((it) => operation.who[it] === 'g')) {
          for (const [actions, expected] of [
            [[other], '403 forbidden'],
            [[right], alone],
            // Where the right action alone is enough, another beside it cannot help.
            ...(alone === both ? [] : [[['read', 'write'], both] as const]),
          ] as const) {
            input ??= await newCallInput(operation.id, env.world, letter);
            const { params, body } = input;
            const grants = `${env.world.tenant.base}/apps/${params.app}/tables/${params.table}/grants`;
            const grant = { principal_type: 'user', principal_id: env.world.ownerFor(letter).id, actions };
            const issued = await env.world.as.O('POST', grants, grant);
            const ask = async () =>
              outcome(await env.world.as[letter](operation.method, addressOf(operation, params), body));
            expect([operation.id, letter, actions, await ask()]).toEqual([
              operation.id,
              letter,
              actions,
              expected,
            ]);
            expect((await env.world.as.O('DELETE', `${grants}/${issued.body.id}`)).status).toBe(204);
            await until('the grant is of no use any more', async () => (await ask()) === '404 not_found');
            if (operation.mutates && expected.startsWith('2')) input = undefined;
          }
        }
      }
    });

    test('a cell "with the action deploy" needs a token of an owner with that action, for that app', async () => {
      const tokenCall = async (actions: string[], more: object = {}, by = env.world.people.O) => {
        const { body } = await by.call('POST', `${env.world.tenant.base}/pats`, {
          name: 'deploys',
          actions,
          ...more,
        });
        return { id: body.id, call: caller(env.world.tenant.server, { 'x-api-key': body.secret }) };
      };
      const deploys = await tokenCall(['deploy']);
      const others = await tokenCall(['read', 'write', 'code']);
      const elsewhere = await tokenCall(['deploy'], { apps: [env.world.app.id] });
      const ofMember = await tokenCall(['deploy'], {}, env.world.people.M);
      const allowed = env.document.operations.filter(({ who }) => who.P === 'd');
      for (const operation of everyNth(allowed, nth)) {
        const { params, body } = operation.mutates
          ? await newCallInput(operation.id, env.world, 'O')
          : await env.inputOfRefused(operation, 'O');
        const query: Record<string, string> = operation.mutates ? { dry_run: 'true' } : {};
        const ask = async ({ call }: typeof deploys) =>
          outcome(await call(operation.method, addressOf(operation, params, query), body));
        expect([operation.id, await ask(others)]).toEqual([operation.id, '403 forbidden']);
        expect([operation.id, await ask(elsewhere)]).toEqual([operation.id, '404 not_found']);
        expect([operation.id, await ask(ofMember)]).toEqual([operation.id, '404 not_found']);
        const limited = await tokenCall(['deploy'], { apps: [params.app] });
        expect([operation.id, await ask(limited)]).toEqual([operation.id, '200']);
        await env.world.as.O('DELETE', `${env.world.tenant.base}/pats/${limited.id}`);
        const done = await deploys.call(operation.method, addressOf(operation, params), body);
        expect([operation.id, outcome(done)]).toEqual([operation.id, String(operation.success)]);
      }
      const refused = env.document.operations.filter(({ who }) => who.P === 'n');
      for (const operation of everyNth(refused, nth)) {
        const { params, body } = await env.inputOfRefused(operation, 'P');
        const answer = await deploys.call(operation.method, addressOf(operation, params), body);
        expect([operation.id, outcome(answer)]).toEqual([operation.id, '403 login_required']);
      }
      const ofData = env.document.operations.filter(({ path }) => path.startsWith('/data/'));
      for (const operation of everyNth(ofData, nth)) {
        const { params, body } = await env.inputOfRefused(operation, 'O');
        const answer = await deploys.call(operation.method, addressOf(operation, params), body);
        expect([operation.id, outcome(answer)]).toEqual([operation.id, '404 not_found']);
      }
    });

    test('an operation without a row is public and gives every principal the same status', async () => {
      const { body } = await env.world.as.N('GET', '/api/v1/openapi.json');
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
      // `/oauth/me` needs the access token of OpenID Connect.
      // `scim.test.ts` calls the operations for directories, which have a credential of their own, and
      // `connector-rows.test.ts` those on rows of connectors, which grants open.
      const open = without.filter(({ path }) => path !== '/oauth/me' && !/^\/(scim\/v2|data)\//.test(path));
      expect(without.find(({ path }) => path === '/oauth/me')?.security).toEqual([{ login: [] }]);
      expect((await env.world.as.N('GET', '/oauth/me')).status).toBe(401);
      expect(open.map(({ path }) => path).sort()).toEqual([
        '/.well-known/svc-user-keys.json',
        '/api/v1/openapi.json',
        '/api/v1/version',
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
          letters.map(async (letter) => (await env.world.as[letter]('GET', path)).status),
        );
        // A path with a parameter names a record that does not exist.
        const isComplete = !path.includes('{') && !needsMore;
        expect([path, new Set(statuses).size, statuses[0]! < 400]).toEqual([path, 1, isComplete]);
      }
    });
  });

  /** The actions of the audit entries of requests with this id. */
  async function auditEntries(requestId: string): Promise<string[]> {
    const text = 'select action from svc.audit_entries where request_id = $1';
    const entries = await queryDatabase(env.world.tenant.server, text, [requestId]);
    return entries.map(({ action }) => String(action));
  }
}
