import { describe, expect, test } from 'bun:test';
import { type ErrorCode, errorCodes } from '@svc/contract/error-codes.ts';
import { exitCodes } from '@svc/contract/exit-codes.ts';
import { patientMs } from '../../../scripts/patience.ts';
import { problem } from '../../testing/answers.ts';
import { useFakeServer } from '../../testing/fake-server.ts';
import { interruptWhen, type RunOptions } from '../../testing/run-svc.ts';
import { clientCodes } from '../framework/errors.ts';

const id = '01977777-7777-7777-8777-777777777777';
const server = useFakeServer();
const { svc } = server;

describe('an error of the server', () => {
  test('has the exit code of its row, for every code there is', async () => {
    for (const [code, row] of Object.entries(errorCodes)) {
      server.intercept = () => problem(code as ErrorCode);
      const ran = await svc(['grants', 'mine']);
      expect([code, ran.exit, ran.out]).toEqual([code, row.exit, '']);
      expect(ran.err).toContain(`(${code})`);
      expect(ran.err).toContain('Request id: req-1');
      expect(ran.err).toMatch(/^Next: .*[.?]$/m);
    }
  });

  test('is with --json the problem object with the next step only', async () => {
    server.intercept = () => problem('policy_in_use');
    for (const format of [['--json'], ['-o', 'json'], ['-o', 'jsonl']]) {
      const ran = await svc(['policies', 'delete', 'x', '--dry-run=false', ...format]);
      expect(ran.err.trimEnd()).not.toContain('\n');
      expect(JSON.parse(ran.err)).toEqual({
        ...(await problem('policy_in_use').json()),
        next: { argv: ['svc', 'grants', 'list'], why: expect.stringContaining('revoke those') },
        warnings: ['--dry-run=false still previews; add --execute to make the change.'],
      });
    }
  });

  test('names the invalid fields', async () => {
    const errors = [{ field: 'name', code: 'too_long', detail: 'must be 1 to 100 characters' }];
    server.intercept = () => problem('validation_failed', { errors });
    expect((await svc(['grants', 'mine'])).err).toContain('  name: must be 1 to 100 characters');
  });

  test('names flags instead of fields of the request', async () => {
    const errors = [
      { field: 'resource_preset', code: 'invalid', detail: 'must be one of XS, S' },
      { field: 'icon_url', code: 'invalid', detail: 'must be a URL' },
      { field: 'name', code: 'too_long', detail: 'is too long' },
    ];
    const detail = 'resource_preset: must be one of XS, S';
    server.intercept = () => problem('validation_failed', { detail, errors });
    const line = ['apps', 'update', 'shop', '--resource-tier', 'XL'];
    const { err } = await svc(line);
    expect(err).toContain('Error: --resource-tier: must be one of XS, S');
    expect(err).toContain('  --icon-url: must be a URL\n  --name: is too long');
    expect(err).not.toContain('resource_preset');
    const items = JSON.parse((await svc([...line, '--json'])).err).errors;
    expect(items[0]).toMatchObject({ field: 'resource_preset', flag: '--resource-tier' });
  });

  test('does not repeat a message', async () => {
    const name = { field: 'name', code: 'invalid', detail: 'must be given' };
    const detail = 'name: must be given';
    server.intercept = () => problem('validation_failed', { detail, errors: [name] });
    expect((await svc(['grants', 'mine'])).err.match(/must be given/g)).toHaveLength(1);
    const line = { line: 2, column: 'qty', code: 'invalid', detail: 'must be a whole number' };
    const errors = [line, { ...line, line: 3 }];
    server.intercept = () =>
      problem('validation_failed', { detail: 'line 2: qty must be a whole number.', errors });
    expect((await svc(['grants', 'mine'])).err.match(/whole number/g)).toHaveLength(2);
  });

  test('has advice that depends on the command and the credential', async () => {
    const next = async (code: ErrorCode, line: string[], own: RunOptions['env'] = {}) => {
      server.intercept = () => problem(code);
      const ran = await svc(line, { env: own });
      return /^Next: (.*)$/m.exec(ran.err)?.[1];
    };
    const rows = ['rows', 'get', 'pets', '1', '--app', 'shop'];
    const pat = { SVC_TOKEN: undefined, SVC_API_KEY: 'svcpat_x' };
    expect(await next('unauthenticated', rows, pat)).toContain('SVC_API_KEY');
    expect(await next('forbidden', rows, pat)).toContain('svc pats create');
    expect(await next('forbidden', rows)).not.toContain('SVC_API_KEY');
    expect(await next('unauthenticated', rows)).toContain('SVC_TOKEN');
    const insert = ['rows', 'insert', 'pets', '--app', 'shop', '--data', '{"a":1}'];
    expect(await next('unique_violation', insert)).not.toContain('name');
    const issue = 'tables grants issue --app shop --table pets --principal-type role';
    const grant = [...issue.split(' '), '--principal-id', 'tenant_member', '--actions', 'read'];
    expect(await next('unique_violation', grant)).toContain('tables grants revoke');
    const rollback = ['deployments', 'rollback', id, '--app', 'shop'];
    expect(await next('not_rollback_target', rollback)).toContain('svc deployments list --app shop');
    const remove = ['apps', 'templates', 'remove', id];
    expect(await next('forbidden', remove)).toContain('tenant admin');
    expect(await next('not_found', remove)).toContain('svc apps templates list');
    const add = ['apps', 'templates', 'add', '--name', 'a', '--repo', 'a/b'];
    expect(await next('forbidden', add)).not.toContain('owner of the app');
    expect(await next('not_found', add)).toContain('repository');
    expect(await next('forbidden', ['members', 'list'])).not.toContain('tenant admin');
    for (const line of [
      'git-host accounts list',
      'apps list',
      'tables list --app a',
      'apps domains list --app a',
    ]) {
      const text = await next('not_found', line.split(' '));
      expect([line, text?.includes(`svc ${line.replace(/ --app.*/, '')} `)]).toEqual([line, false]);
      expect(text).toContain('svc tenants list');
    }
  });

  test('has advice with the command, app and profile of the line', async () => {
    const next = async (code: ErrorCode, line: string, own: RunOptions['env'] = {}) => {
      server.intercept = () => problem(code);
      const ran = await svc(line.split(' '), { env: own });
      return /^Next: (.*)$/m.exec(ran.err)?.[1];
    };
    expect(await next('validation_failed', 'members list')).toContain('svc members list --help');
    expect(await next('not_found', 'tables get pets --app shop')).toContain('svc tables list --app shop ');
    expect(await next('app_not_active', 'apps suspend shop')).toContain('svc apps reactivate shop ');
    expect(await next('unknown_column', 'rows list items --app shop --tenant acme')).toContain(
      'svc tables get items --app shop ',
    );
    expect(await next('forbidden', 'rows export hr/people --connector dwh --to - --tenant acme')).toContain(
      'svc grants request --connector dwh --scope hr/people ',
    );
    expect(await next('unknown_column', 'rows list hr/people --connector dwh --tenant acme')).toContain(
      'svc grants tables ',
    );
    expect(await next('request_open', "publish --app $&' --visibility public")).toContain(
      "svc review history --app '$&'\\''' ",
    );
    const stored = { SVC_TOKEN: undefined };
    expect(await next('unauthenticated', 'whoami --profile nope', stored)).toBe(
      'Run svc login --profile nope.',
    );
    expect(await next('unauthenticated', 'whoami', { ...stored, SVC_PROFILE: 'exp' })).toContain(
      'svc login --profile exp',
    );
    expect(await next('unauthenticated', 'whoami', stored)).toBe('Run svc login.');
  });

  test('has advice that names another command', async () => {
    const next = async (line: string, baseUrl = server.url) => {
      server.intercept = () => problem('not_found');
      const ran = await svc(line.split(' '), { env: { SVC_BASE_URL: baseUrl } });
      return /^Next: (.*)$/m.exec(ran.err)?.[1];
    };
    for (const line of ['apps list', 'apps mine', 'members list', 'grants mine'])
      expect([line, await next(`${line} --tenant nope`)]).toEqual([
        line,
        'Check the tenant; svc tenants list shows yours.',
      ]);
    expect(await next('tenants use nope')).toContain('svc tenants list');
    for (const line of ['open nope', 'metrics --app nope', 'logs --app nope', 'env list --app nope'])
      expect([line, await next(line)]).toEqual([line, expect.stringContaining('svc apps list')]);
    expect(await next('apps list', `${server.url}/console`)).toContain('SVC_BASE_URL');
    for (const command of ['list', 'count', 'export'])
      expect(await next(`rows ${command} hr/people --connector warehouse --tenant acme`)).toContain(
        'svc access preview --connector warehouse --resource-path hr/people ',
      );
  });

  test('states when to try again', async () => {
    server.intercept = () => problem('rate_limited', {}, { 'retry-after': '7' });
    expect(await svc(['grants', 'mine'])).toMatchObject({ exit: 8, err: expect.stringContaining('in 7 s') });
  });

  test('with an unknown code is handled by its status', async () => {
    const body = { type: 'about:blank', title: 'New', detail: 'new', code: 'brand_new', request_id: 'r' };
    for (const [status, exit] of [
      [401, 3],
      [403, 4],
      [404, 5],
      [409, 6],
      [422, 7],
      [429, 8],
      [500, 13],
    ] as const) {
      server.intercept = () => Response.json({ ...body, status }, { status });
      expect((await svc(['grants', 'mine'])).exit).toBe(exit);
    }
  });

  test('contains no control characters', async () => {
    server.intercept = () => problem('forbidden', { detail: '\u001b[2Jgone' });
    expect((await svc(['grants', 'mine'])).err).not.toContain('\u001b');
  });
});

describe('another kind of server', () => {
  test.each([
    [() => new Response('<html>hello</html>'), 12],
    [() => new Response('<html>bad gateway</html>', { status: 502 }), 13],
    [() => Response.json({ not: 'a problem' }, { status: 404 }), 12],
    [() => Response.redirect('http://elsewhere.invalid/'), 12],
  ])('%# has its exit code', async (answer, exit) => {
    server.intercept = answer;
    expect(await svc(['grants', 'mine'])).toMatchObject({ exit, out: '' });
  });

  test('no server exits with 12 and the URL', async () => {
    const ran = await svc(['grants', 'mine', '--json'], {
      env: { SVC_BASE_URL: 'http://127.0.0.1:1' },
    });
    expect([ran.exit, JSON.parse(ran.err)]).toMatchObject([
      12,
      { code: 'no_connection', status: 0, request_id: '' },
    ]);
    expect(ran.err).toContain('http://127.0.0.1:1');
  });

  test('a server that does not answer in time exits 12', async () => {
    server.intercept = () => Bun.sleep(2000).then(() => Response.json([]));
    const began = performance.now();
    const ran = await svc(['grants', 'mine', '--timeout', '50ms', '--json']);
    expect([ran.exit, JSON.parse(ran.err).code]).toEqual([12, 'timeout']);
    expect(performance.now() - began).toBeLessThan(patientMs(1000));
  });

  test('an answer that is cut off exits 12', async () => {
    const rude = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        data(socket) {
          socket.end(
            'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n[{"id":',
          );
        },
      },
    });
    const ran = await svc(['grants', 'mine'], {
      env: { SVC_BASE_URL: `http://127.0.0.1:${rude.port}` },
    });
    rude.stop(true);
    expect(ran).toMatchObject({ exit: 12, out: '' });
  });
});

describe('Ctrl-C', () => {
  test('ends a request at once with 130', async () => {
    server.intercept = () => Bun.sleep(2000).then(() => Response.json([]));
    const ran = await svc(['grants', 'mine'], { interrupt: interruptWhen(() => server.seen.length > 0) });
    expect(ran).toMatchObject({ exit: 130, out: '' });
  });

  test('during a change warns that the change may have happened', async () => {
    server.intercept = () => Bun.sleep(2000).then(() => Response.json({}));
    const ran = await svc(['connectors', 'delete', 'x', '--execute'], {
      interrupt: interruptWhen(() => server.seen.length > 0),
    });
    expect(ran.err).toContain('may already have made the change');
  });
});

test('every exit code is documented', () => {
  for (const { exit } of Object.values(clientCodes)) expect(exitCodes).toHaveProperty(String(exit));
});

test('--quiet silences notes but not errors and not results', async () => {
  server.intercept = () => Response.json([]);
  expect(await svc(['grants', 'mine'])).toMatchObject({ err: 'Nothing found.\n' });
  expect(await svc(['grants', 'mine', '--quiet'])).toMatchObject({ err: '' });
  server.intercept = () => problem('forbidden');
  expect((await svc(['grants', 'mine', '--quiet'])).err).toContain('forbidden');
});

test('--verbose shows requests and no secret', async () => {
  const ran = await svc(['grants', 'mine', '--json', '--verbose'], { env: { SVC_API_KEY: 'svcpat_secret' } });
  expect(ran.err).toMatch(
    /^GET http:\/\/localhost:\d+\/api\/v1\/tenants\/demo\/me\/grants 200 req-1 \d+ms\n$/,
  );
});
