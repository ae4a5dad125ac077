import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { attachDatabase } from '../drivers/database/database.ts';
import {
  copyStoppedDataDir,
  query,
  type TemporaryFolder,
  temporaryFolder,
} from '../drivers/database/testing.ts';
import { findProgram } from '../supervisor/bundle.ts';
import { admin, type Outcome } from './testing.ts';

let folder: TemporaryFolder;
const servers: ChildProcess[] = [];
beforeAll(() => {
  folder = temporaryFolder();
});
afterAll(async () => {
  for (const server of servers) server.kill('SIGKILL');
  await folder.remove();
});

type Environment = { SVC_DATA_DIR: string; SVC_PORT: string; SVC_SEED: string };

function environment(name: string): Environment {
  const probe = Bun.serve({ port: 0, fetch: () => new Response() });
  const port = String(probe.port);
  void probe.stop(true);
  return { SVC_DATA_DIR: join(folder.path, name), SVC_PORT: port, SVC_SEED: 'none' };
}

async function startServer(env: Environment): Promise<{ stop(): Promise<void> }> {
  const child = spawn(process.execPath, [findProgram('main.ts')], {
    env: { PATH: process.env.PATH, ...env },
  });
  servers.push(child);
  let output = '';
  child.stderr.on('data', (text) => {
    output += text;
  });
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (text) => {
      output += text;
      if (output.includes('svc is ready on')) resolve();
    });
    child.once('exit', () => reject(new Error(output)));
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return {
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

const launcher = join(import.meta.dir, '..', '..', '..', 'svc-admin');

function spawnAdmin(env: Environment, argv: readonly string[], stdin: string | null = '') {
  const child = spawn(launcher, argv, { env: { PATH: process.env.PATH, ...env } });
  if (stdin !== null) child.stdin.end(stdin);
  const [written, errors] = [collect(child.stdout), collect(child.stderr)];
  const ended = new Promise<Outcome>((resolve) => {
    child.once('close', (exit) => {
      const out = written.join('');
      const json = /^\{.*\}\n$/.test(out) ? JSON.parse(out) : null;
      resolve({ exit, out, err: errors.join(''), json });
    });
  });
  return { child, ended };
}

function collect(stream: Readable): string[] {
  const texts: string[] = [];
  stream.setEncoding('utf8').on('data', (text) => texts.push(text));
  return texts;
}

type Run = (env: Environment, argv: string[], stdin?: string) => Promise<Outcome>;

/** A process per command is slow: most run in this one. */
const asProcess: Run = (env, argv, stdin) => spawnAdmin(env, [...argv, '--json'], stdin).ended;

/** A command that must succeed; exactly one JSON object on standard output. */
async function ok(env: Environment, argv: string[], stdin?: string, run: Run = admin) {
  const { exit, out, err, json } = await run(env, argv, stdin);
  expect([argv, exit, err]).toEqual([argv, 0, expect.any(String)]);
  expect(out).toBe(`${JSON.stringify(json)}\n`);
  return json;
}

async function exitOf(env: Environment, argv: string[], stdin?: string, run: Run = admin) {
  const { exit, out, err } = await run(env, argv, stdin);
  expect(out).toBe('');
  return [exit, JSON.parse(err).code];
}

const me = async (env: Environment, token: string) => {
  const answer = await fetch(`http://localhost:${env.SVC_PORT}/api/v1/me`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return { status: answer.status, email: answer.ok ? (await answer.json()).email : null };
};

const runsPostgres = (env: Environment) => existsSync(join(env.SVC_DATA_DIR, 'postgres', 'postmaster.pid'));

test('before the first start of a server, a command creates the database and stops it again', async () => {
  const env = environment('never-started');
  expect(await ok(env, ['tenants', 'create', 'first'], '', asProcess)).toMatchObject({ slug: 'first' });
  expect(runsPostgres(env)).toBeFalse();
  expect(await ok(env, ['tenants', 'list'])).toMatchObject({ items: [{ slug: 'first' }], total: 1 });
  expect(runsPostgres(env)).toBeFalse();
});

test('a command that needs an existing system creates none and names the data dir', async () => {
  const env = environment('elsewhere');
  const someone = ['--user', 'ann@example.test'];
  for (const argv of [
    ['tenants', 'list'],
    ['users', 'list'],
    ['users', 'suspend', 'ann@example.test'],
    ['users', 'activate', 'ann@example.test'],
    ['members', 'set', '--tenant', 'acme', ...someone, '--role', 'none'],
    ['tokens', 'issue', ...someone],
    ['backup', '--to', join(folder.path, 'elsewhere.tar.gz')],
  ]) {
    const { exit, err } = await admin(env, argv);
    expect([argv, exit, JSON.parse(err).code]).toEqual([argv, 5, 'not_found']);
    expect(JSON.parse(err).detail).toContain(env.SVC_DATA_DIR);
    expect(JSON.parse(err).detail).toContain('SVC_DATA_DIR');
  }
  expect(await exitOf(env, ['batch'], '["users", "list"]\n')).toEqual([5, 'not_found']);
  expect(existsSync(env.SVC_DATA_DIR)).toBeFalse();
});

describe('beside a running server', () => {
  let env: Environment;
  let server: { stop(): Promise<void> };
  let token = '';
  const backup = () => join(folder.path, 'backups', 'svc.tar.gz');

  beforeAll(async () => {
    env = environment('served');
    await copyStoppedDataDir(env.SVC_DATA_DIR);
    mkdirSync(join(folder.path, 'backups'));
    server = await startServer(env);
  });

  test('every command prints one JSON object', async () => {
    const tenant = await ok(env, [
      'tenants',
      'create',
      'acme',
      '--name',
      'Acme',
      '--max-resource-tier',
      'XL',
    ]);
    expect(tenant).toMatchObject({ slug: 'acme', name: 'Acme', max_resource_tier: 'XL' });
    const change = ['tenants', 'update', 'acme', '--max-resource-tier'];
    expect(await ok(env, [...change, 'M'])).toMatchObject({ name: 'Acme', max_resource_tier: 'M' });
    expect(await ok(env, [...change, 'XL', '--name', 'Acme Ltd'])).toMatchObject({
      name: 'Acme Ltd',
      max_resource_tier: 'XL',
    });
    const user = await ok(
      env,
      ['users', 'create', 'Ann@Example.test', '--password-stdin'],
      'correct horse\n',
      asProcess,
    );
    expect(user.email).toBe('ann@example.test');
    expect(await ok(env, ['users', 'list'])).toMatchObject({ items: [{ id: user.id }], total: 1 });
    const member = ['members', 'set', '--tenant', tenant.id, '--user', 'ann@example.test', '--role'];
    expect(await ok(env, [...member, 'tenant_admin'])).toEqual({
      tenant_id: tenant.id,
      user_id: user.id,
      role: 'tenant_admin',
    });
    const issued = await ok(env, ['tokens', 'issue', '--user', user.id, '--ttl', '10m']);
    expect(Object.keys(issued)).toEqual(['access_token', 'expires_at']);
    expect(new Date(issued.expires_at).getTime() / 1000).toBeCloseTo(Date.now() / 1000 + 600, -2);
    expect(await me(env, issued.access_token)).toEqual({ status: 200, email: 'ann@example.test' });

    expect(await ok(env, ['users', 'suspend', 'ann@example.test'])).toMatchObject({ status: 'suspended' });
    expect((await me(env, issued.access_token)).status).toBe(401);
    expect(await exitOf(env, ['tokens', 'issue', '--user', user.id])).toEqual([
      6,
      'invalid_state_transition',
    ]);
    expect(await ok(env, ['users', 'activate', user.id])).toMatchObject({ status: 'active' });
    expect(await ok(env, ['users', 'set-password', user.id, '--password-stdin'], 'battery staple')).toEqual({
      id: user.id,
      email: 'ann@example.test',
    });
    expect(await ok(env, ['migrate'])).toEqual({ applied: [] });
    expect(await ok(env, ['doctor'])).toMatchObject({ ok: true });
    token = (await ok(env, ['tokens', 'issue', '--user', user.id])).access_token;
  });

  test('a batch runs many commands; the first failure ends it with its exit code', async () => {
    const lines = (...commands: unknown[]) => commands.map((words) => JSON.stringify(words)).join('\n');
    const done = await ok(
      env,
      ['batch'],
      lines(['tenants', 'create', 'batched'], ['users', 'create', 'bea@example.test'], ['tenants', 'list']),
    );
    expect(done.results).toMatchObject([
      { slug: 'batched' },
      { email: 'bea@example.test' },
      { total: expect.any(Number) },
    ]);
    const stopped = lines(['tenants', 'create', 'batched'], ['tenants', 'create', 'never-made']);
    expect(await exitOf(env, ['batch'], stopped, asProcess)).toEqual([6, 'unique_violation']);
    expect(
      (await ok(env, ['tenants', 'list'])).items.map(({ slug }: { slug: string }) => slug),
    ).not.toContain('never-made');
    for (const bad of [lines('users list'), lines(['batch']), lines(['--help']), 'nonsense']) {
      expect(await exitOf(env, ['batch'], bad)).toEqual([2, 'usage']);
    }
  });

  test('an open batch answers each line immediately, and a failure ends it', async () => {
    const { child, ended } = spawnAdmin(env, ['batch'], null);
    const answers = createInterface(child.stdout)[Symbol.asyncIterator]();
    const ask = async (...words: string[]) => {
      child.stdin.write(`${JSON.stringify(words)}\n`);
      return JSON.parse((await answers.next()).value ?? 'null');
    };
    const made = await ask('tenants', 'create', 'kept-open');
    expect(made).toMatchObject({ slug: 'kept-open' });
    expect((await ask('tenants', 'list')).items).toContainEqual(expect.objectContaining({ id: made.id }));
    // Standard input contains the commands, so it cannot contain a password.
    expect(await ask('users', 'create', 'cy@example.test', '--password-stdin')).toBeNull();
    expect(await ended).toMatchObject({ exit: 2, err: expect.stringContaining('no password') });
    expect((await ok(env, ['users', 'list'])).items).not.toContainEqual(
      expect.objectContaining({ email: 'cy@example.test' }),
    );
  });

  test('every kind of error has its exit code and its code on standard error', async () => {
    const ann = 'ann@example.test';
    const refusals: [string, string[], string?][] = [
      ['2 usage', ['tenants', 'mend']],
      ['2 usage', ['tokens', 'issue', '--user', ann, '--ttl', 'soon']],
      ['2 usage', ['tokens', 'issue', '--user', ann, '--through', 'acme']],
      ['5 not_found', ['tokens', 'issue', '--user', ann, '--through', 'acme/none']],
      ['2 usage', ['users', 'set-password', ann]],
      ['5 not_found', ['tenants', 'update', 'none', '--name', 'None']],
      ['5 not_found', ['users', 'suspend', 'no@one']],
      ['5 not_found', ['members', 'set', '--tenant', 'none', '--user', ann, '--role', 'none']],
      ['5 not_found', ['members', 'set', '--tenant', 'acme', '--user', 'no@one', '--role', 'none']],
      ['6 unique_violation', ['tenants', 'create', 'acme']],
      ['6 unique_violation', ['users', 'create', 'ANN@example.test']],
      ['7 validation_failed', ['tenants', 'create', 'No Slug']],
      ['7 validation_failed', ['tokens', 'issue', '--user', ann, '--ttl', '25h']],
      ['7 validation_failed', ['users', 'create', 'b@c', '--password-stdin'], 'short'],
    ];
    const outcomes = refusals.map(async ([, argv, stdin]) => (await exitOf(env, argv, stdin)).join(' '));
    expect(await Promise.all(outcomes)).toEqual(refusals.map(([code]) => code));
    expect(await exitOf({ ...env, SVC_PORT: 'x' }, ['tenants', 'list'])).toEqual([2, 'configuration']);
  });

  test('without --json the output is text with hints', async () => {
    expect((await spawnAdmin(env, ['tenants', 'list']).ended).out).toMatch(
      /^SLUG +NAME .*\nacme +Acme Ltd +XL /,
    );
    const slip = await spawnAdmin(env, ['tenant', 'list']).ended;
    expect([slip.exit, slip.err]).toEqual([
      2,
      'Error: "tenant" is not a command. (usage)\nNext: Did you mean svc-admin tenants?\n',
    ]);
  });

  test('an interrupted backup leaves no file, a killed one only a partial file', async () => {
    const database = await attachDatabase({ dataDir: env.SVC_DATA_DIR, log: () => {} });
    await query(
      database.controlUrl,
      `create schema app_1; create table app_1.t as select md5(i::text) as a, md5((i + 1)::text) as b from generate_series(1, 200000) i`,
    );
    const files = () => readdirSync(join(folder.path, 'backups'));
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGKILL'] as const) {
      const { child, ended } = spawnAdmin(env, ['backup', '--to', backup()]);
      while (files().length === 0 && child.exitCode === null) await Bun.sleep(2);
      child.kill(signal);
      await ended;
      const left = files().map((name) => name.replace(/\d+$/, ''));
      expect([signal, left]).toEqual([signal, signal === 'SIGKILL' ? ['svc.tar.gz.partial-'] : []]);
    }
    expect(await ok(env, ['backup', '--to', backup()])).toMatchObject({ app_schemas: 1 });
    expect(files()).toEqual(['svc.tar.gz']);
    await database.stop();
  });

  test('a restore is refused beside a server; in a new data dir the same logins work', async () => {
    expect(await exitOf(env, ['restore', '--from', backup(), '--yes'])).toEqual([6, 'data_dir_in_use']);
    expect((await me(env, token)).status).toBe(200);
    await server.stop();

    const next = environment('restored');
    expect(await ok(next, ['restore', '--from', backup()])).toMatchObject({
      app_schemas: 1,
      audit_breaks: [],
    });
    expect(runsPostgres(next)).toBeFalse();
    const restored = await startServer(next);
    expect(await me(next, token)).toEqual({ status: 200, email: 'ann@example.test' });
    expect(await ok(next, ['doctor'])).toMatchObject({ ok: true });
    await restored.stop();
    expect(await exitOf(next, ['restore', '--from', backup()])).toEqual([11, 'confirmation_required']);
    expect(runsPostgres(next)).toBeFalse();
  });
});
