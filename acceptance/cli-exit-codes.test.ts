import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mapConcurrently } from '@svc/contract/concurrency.ts';
import { freePort } from '../scripts/free-port.ts';
import { patientMs } from '../scripts/patience.ts';
import { type Ran, type Svc, svcFor } from './support/commands.ts';
import { readDocument } from './support/document.ts';
import { temporaryFolder } from './support/server.ts';
import { newWorld, type World } from './support/world.ts';

let world: World;
let asAdmin: Svc;
let asMember: Svc;
let asNobody: Svc;

beforeAll(async () => {
  world = await newWorld();
  const { server, slug } = world.tenant;
  asAdmin = svcFor(server, { token: world.people.A.token, tenant: slug });
  asMember = svcFor(server, { token: world.people.M.token, tenant: slug });
  asNobody = svcFor(server);
});

/** A failure reports one code three times: as exit code, on stderr for machines and on stderr for people. */
async function fails(svc: Svc, args: string[], exit: number, code: string, env = {}): Promise<Ran> {
  const [machine, person] = [await svc([...args, '--json'], { env }), await svc(args, { env })];
  expect([args, machine.code, machine.stdout]).toEqual([args, exit, '']);
  expect([args, JSON.parse(machine.stderr).code]).toEqual([args, code]);
  expect([args, person.code, person.stdout]).toEqual([args, exit, '']);
  expect(person.stderr).toStartWith('Error: ');
  expect(person.stderr).toContain(`(${code})`);
  return person;
}

describe('the real server', () => {
  test('0: done, or previewed', async () => {
    expect((await asAdmin(['whoami'])).code).toBe(0);
    expect((await asAdmin(['presets', 'create', '--name', 'seen-only', '--actions', 'read'])).code).toBe(0);
  });

  test('2: a tenant must be chosen where there are several, and there must be one at all', async () => {
    const { server } = world.tenant;
    const lonely = svcFor(server, { token: world.people.A.token });
    expect((await lonely(['grants', 'mine'])).code).toBe(0);
    const path = `/api/v1/tenants/${(await world.as.X('GET', '/api/v1/tenants')).body.items[0].id}/members/${world.people.O.id}`;
    expect((await world.as.X('PUT', path, { role: 'tenant_member' })).status).toBe(200);
    const torn = svcFor(server, { token: world.people.O.token });
    const several = await fails(torn, ['grants', 'mine'], 2, 'usage');
    expect(several.stderr).toContain(world.tenant.slug);
    expect(several.stderr).toContain('svc tenants use');
    expect((await torn(['grants', 'mine', '--tenant', world.tenant.slug])).code).toBe(0);
    expect((await world.as.X('DELETE', path)).status).toBe(204);
    expect((await world.as.A('DELETE', `${world.tenant.base}/members/${world.people.C.id}`)).status).toBe(
      204,
    );
    await fails(svcFor(server, { token: world.people.C.token }), ['grants', 'mine'], 2, 'usage');
  });

  test('3: not logged in, an ended login, or only a token for rows', async () => {
    await fails(asNobody, ['whoami'], 3, 'not_logged_in');
    await fails(asNobody, ['whoami'], 3, 'not_logged_in', { SVC_API_KEY: world.pat });
    await fails(asNobody, ['whoami'], 3, 'unauthenticated', { SVC_TOKEN: 'nonsense' });
  });

  test('4: not permitted', async () => {
    await fails(asMember, ['members', 'list'], 4, 'forbidden');
    const create = ['connectors', 'create', '--name', 'x', '--kind', 'http'];
    await fails(asMember, create, 4, 'forbidden');
    await fails(asMember, [...create, '--execute'], 4, 'forbidden');
  });

  test('5: not found, another tenant, or already gone', async () => {
    await fails(asAdmin, ['connectors', 'get', 'nowhere'], 5, 'not_found');
    await fails(asAdmin, ['tenants', 'get', '--tenant', 'no-such-tenant'], 5, 'not_found');
    const preset = ['presets', 'delete', 'twice', '--execute'];
    await asAdmin(['presets', 'create', '--name', 'twice', '--actions', 'read', '--execute']);
    expect((await asAdmin(preset)).code).toBe(0);
    await fails(asAdmin, preset, 5, 'not_found');
  });

  test('6: conflicts and states, each by its own code', async () => {
    const { base } = world.tenant;
    const made = async (path: string, body: unknown) => (await world.as.A('POST', base + path, body)).body.id;
    const connector = await made('/connectors', { name: 'in use', slug: 'in-use', kind: 'http' });
    const policy = await made('/access-policies', { name: 'in use' });
    await made('/presets', { name: 'in-use', actions: ['read'] });
    const grant = await made('/grants', {
      subject_id: world.people.M.id,
      connector_id: connector,
      preset_id: 'in-use',
      policy_ids: [policy],
    });
    await fails(asAdmin, ['connectors', 'delete', 'in-use'], 6, 'connector_in_use');
    await fails(asAdmin, ['policies', 'delete', policy, '--execute'], 6, 'policy_in_use');
    await fails(asAdmin, ['presets', 'delete', 'in-use', '--execute'], 6, 'preset_in_use');
    await fails(asAdmin, ['presets', 'delete', 'reader', '--execute'], 6, 'preset_built_in');
    const again = ['connectors', 'create', '--name', 'again', '--slug', 'in-use', '--kind', 'http'];
    await fails(asAdmin, [...again, '--execute'], 6, 'unique_violation');
    await fails(asAdmin, ['members', 'remove', world.people.A.id, '--execute'], 6, 'last_admin');
    await world.as.A('POST', `${base}/grants/${grant}/revoke`);
    await fails(asAdmin, ['grants', 'scope', 'set', grant, 'sales', '--execute'], 6, 'grant_not_active');
  });

  test('7: rejected input, with the field named', async () => {
    const create = ['presets', 'create', '--name', 'Not A Slug', '--actions', 'read'];
    expect((await fails(asAdmin, create, 7, 'validation_failed')).stderr).toContain('name');
    const scope = ['grants', 'scope', 'set', Bun.randomUUIDv7(), 'a/b/c'];
    await fails(asAdmin, scope, 7, 'validation_failed');
  });

  test('10: a wait that timed out', async () => {
    // Long enough for the requests before the wait, also on a busy machine.
    const timeout = `${Math.max(1_500, patientMs(500))}ms`;
    const ran = await asNobody(['login', '--no-browser', '--timeout', timeout, '--json']);
    // The instructions for the sign-in are printed before the problem.
    const problem = ran.stderr.slice(ran.stderr.indexOf('{'));
    expect([ran.code, ran.stdout, JSON.parse(problem).code]).toEqual([10, '', 'wait_timeout']);
  });
});

describe('no server, or another one', () => {
  const page = '<!doctype html><title>Gateway</title>';
  const html = { headers: { 'content-type': 'text/html' } };
  const never = Promise.withResolvers<Response>();
  const odd = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    fetch: (request) => {
      const [kind] = new URL(request.url).pathname.split('/').filter(Boolean);
      if (kind === 'page') return new Response(page, html);
      if (kind === 'gateway') return new Response(page, { ...html, status: 502 });
      if (kind === 'elsewhere') return Response.redirect('http://127.0.0.1:1/', 307);
      if (kind === 'cut')
        return new Response('{"items": [', { headers: { 'content-type': 'application/json' } });
      return never.promise;
    },
  });
  afterAll(() => odd.stop(true));
  const at = (kind: string) => ({ SVC_BASE_URL: `http://127.0.0.1:${odd.port}/${kind}`, SVC_TOKEN: 'some' });

  test('12: no server listens, or the name is unknown', async () => {
    for (const url of [`http://127.0.0.1:${freePort()}`, 'http://nowhere.invalid'])
      await fails(asNobody, ['whoami'], 12, 'no_connection', { SVC_BASE_URL: url, SVC_TOKEN: 'some' });
  });

  test('12: another service responds, and the login is not sent to its redirect', async () => {
    await fails(asNobody, ['whoami'], 12, 'not_this_service', at('page'));
    await fails(asNobody, ['whoami'], 12, 'not_this_service', at('elsewhere'));
    await fails(asNobody, ['whoami'], 12, 'not_this_service', at('cut'));
  });

  test('12: no answer within --timeout; 13: the gateway answers that the server is away', async () => {
    await fails(asNobody, ['whoami', '--timeout', '300ms'], 12, 'timeout', at('never'));
    await fails(asNobody, ['whoami'], 13, 'bad_gateway', at('gateway'));
  });

  test('1: an unusable file of svc', async () => {
    const folder = temporaryFolder();
    for (const file of ['config.json', 'credentials.json']) writeFileSync(join(folder, file), '{ broken');
    await fails(asNobody, ['whoami'], 1, 'config_unreadable', { SVC_CONFIG_DIR: folder });
  });
});

describe('each code that the server can answer', () => {
  /** The contract's mapping of status to exit code, with its exceptions by name. */
  const byStatus: Record<number, number> = {
    400: 7,
    401: 3,
    403: 4,
    404: 5,
    405: 2,
    408: 12,
    409: 6,
    412: 6,
    413: 7,
    414: 7,
    415: 7,
    416: 7,
    421: 12,
    422: 7,
    429: 8,
    500: 13,
    502: 13,
    503: 13,
    504: 13,
  };
  const exceptions: Record<string, number> = {
    login_required: 3,
    plan_stale: 15,
    // A person has to act at the git host first.
    git_account_required: 11,
    installation_missing: 11,
  };
  const statuses: Record<number, string> = {
    400: 'validation_failed malformed_json unknown_parameter unknown_column invalid_cursor ambiguous_credentials',
    401: 'unauthenticated',
    403: `login_required wrong_password forbidden cross_site_request url_expired self_approval self_review access_denied
      code_not_readable policy_unresolvable data_scope_missing grant_missing`,
    404: 'not_found not_in_manifest',
    405: 'method_not_allowed',
    408: 'request_timeout',
    409: `not_wider request_open settled stale_deployment
      invalid_state_transition immutable_field visibility_widen_not_allowed policy_in_use connector_in_use
      connector_not_configured connector_read_only grant_request_open duration_exceeded
      preset_in_use preset_built_in grant_not_active unique_violation row_in_use max_affected_exceeded last_admin group_managed limit_reached no_password factor_required
      idempotency_in_progress plan_stale table_busy not_null_violation check_violation type_change_refused destructive_change changes_off history_off restore_conflict table_in_use column_in_use app_not_active slug_taken
      subdomain_taken nothing_deployed no_successful_deployment deploy_in_progress not_deleted storage_not_enabled
      raw_db_unavailable consent_required already_uploaded release_not_draft release_incomplete
      release_not_finalized release_revoked release_active staging_disabled not_staged promotion_pending
      promotion_required staging_changed not_pending not_rollback_target nothing_active already_attached
      host_active_elsewhere app_suspended no_source not_cancelable artifact_expired runtime_unsupported
      git_account_required installation_missing already_connected not_connected repo_exists device_code_expired`,
    412: 'precondition_failed',
    413: 'payload_too_large',
    414: 'uri_too_long',
    415: 'unsupported_media_type',
    416: 'range_not_satisfiable',
    421: 'misdirected_request',
    422: `idempotency_mismatch resource_tier_exceeded invalid_path path_collision digest_mismatch host_reserved
      installation_mismatch invalid_factor`,
    429: 'rate_limited',
    500: 'internal',
    502: 'app_unreachable',
    503: 'unavailable app_starting git_host_unavailable connector_unavailable',
    504: 'query_timeout app_timeout',
  };
  const rows = Object.entries(statuses).flatMap(([status, codes]) =>
    codes.split(/\s+/).map((code) => ({ code, status: Number(status) })),
  );

  test('is in this table', async () => {
    const { codes } = await readDocument(world.tenant.server);
    expect(rows.map(({ code }) => code).sort()).toEqual([...codes].sort());
  });

  test('makes svc exit with its code and print the request id', async () => {
    const stub = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: (request) => {
        const { code, status } = rows.find((row) => request.url.includes(`/${row.code}/`))!;
        const problem = {
          type: 'about:blank',
          title: code,
          status,
          detail: 'As asked.',
          code,
          request_id: 'r-42',
        };
        const headers = { 'content-type': 'application/problem+json', 'retry-after': '7' };
        return new Response(JSON.stringify(problem), { status, headers });
      },
    });
    await mapConcurrently(rows, 4, async ({ code, status }) => {
      const env = { SVC_BASE_URL: `http://127.0.0.1:${stub.port}/${code}`, SVC_TOKEN: 'some' };
      const exit = exceptions[code] ?? byStatus[status]!;
      expect((await fails(asNobody, ['tenants', 'list'], exit, code, env)).stderr).toContain('r-42');
    });
    await stub.stop(true);
    const known = (await asNobody(['exit-codes', '--json']))
      .json<{ code: number }[]>()
      .map(({ code }) => code);
    expect(known).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 130]);
    console.log(`cli: ${rows.length} codes of the server, each with its exit code`);
  });
});
