import { describe, expect, test } from 'bun:test';
import { revokeGrant } from '@svc/contract/grants.ts';
import { previewOf, problem } from '../testing/answers.ts';
import { useFakeServer } from '../testing/fake-server.ts';
import type { Ctx } from './context.ts';
import { mutate, mutationMode } from './mutation.ts';

const server = useFakeServer();
const grant = '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c';
const { svc } = server;

describe('without --execute', () => {
  test('a change is previewed by the server and shown, with the line that executes it', async () => {
    const ran = await svc(['grants', 'revoke', grant, '--reason', "it's over"]);
    expect(ran.exit).toBe(0);
    expect(server.seen.map(({ query }) => query.get('dry_run'))).toEqual(['true']);
    expect(ran.out).toContain('+ name: new');
    expect(ran.out).toContain('~ scope: ["a"] → []');
    expect(ran.out).toContain('- old: x');
    expect(ran.out).toContain('! Mind the gap.');
    expect(ran.out).toContain('! This cannot be undone.');
    expect(ran.out).toContain('--plan f1f2f3');
    expect(ran.out).toEndWith(`  svc grants revoke ${grant} --reason 'it'\\''s over' --execute\n`);
  });

  test('JSON output is the preview of the server, with the command that makes the change', async () => {
    const ran = await svc(['grants', 'revoke', grant, '--reason', "it's over", '--json']);
    const { next, ...preview } = JSON.parse(ran.out);
    expect(preview).toMatchObject({ dry_run: true, plan: { fingerprint: 'f1f2f3' } });
    const argv = ['svc', 'grants', 'revoke', grant, '--reason', "it's over", '--json', '--execute'];
    expect(next).toEqual({ argv, why: 'Makes the change that the plan describes.' });
    server.seen = [];
    const made = await svc(next.argv.slice(1));
    expect([made.exit, JSON.parse(made.out).id]).toEqual([0, expect.any(String)]);
    expect(server.seen.map(({ query, body }) => [query.has('dry_run'), JSON.parse(body)])).toEqual([
      [false, { reason: "it's over" }],
    ]);
  });

  test('the next command of a change that must be confirmed has --yes, and none is there without a change', async () => {
    const next = async (...argv: string[]) => JSON.parse((await svc([...argv, '--json'])).out).next;
    expect((await next('categories', 'delete', 'zed')).argv).toEqual(
      'svc categories delete zed --json --execute --yes'.split(' '),
    );
    server.intercept = () => Response.json(previewOf('grants.revoke', { changes: [] }));
    expect(await next('grants', 'revoke', grant)).toEqual({ argv: [], why: 'There is nothing to do.' });
  });

  test.each([
    ['--dry-run'],
    ['--dry-run=true'],
    ['--dry-run=false'],
    ['--yes'],
    ['-y'],
    ['--plan=x'],
    ['--execute=false'],
  ])('%s previews too', async (flag) => {
    expect((await svc(['grants', 'revoke', grant, flag])).exit).toBe(0);
    expect(server.seen.map(({ query }) => query.get('dry_run'))).toEqual(['true']);
  });

  test('--dry-run=false alone has a note, and is not in the line to execute', async () => {
    const ran = await svc(['grants', 'revoke', grant, '--dry-run=false']);
    expect(ran.err).toContain('still previews');
    expect(ran.out).toEndWith(`svc grants revoke ${grant} --execute\n`);
  });

  test('--execute is placed before --', async () => {
    const ran = await svc(['grants', 'scope', 'set', grant, '--', 'a', 'b$c']);
    expect(ran.out).toEndWith(`svc grants scope set ${grant} --execute -- a 'b$c'\n`);
  });

  test('the arrow is ASCII in a plain locale', async () => {
    expect((await svc(['grants', 'revoke', grant], { env: { LC_ALL: 'C' } })).out).toContain('["a"] -> []');
  });

  test('a server that ignores dry_run is detected', async () => {
    server.intercept = () => Response.json({ id: grant });
    expect(await svc(['grants', 'revoke', grant])).toMatchObject({ exit: 12, out: '' });
  });
});

describe('with --execute', () => {
  test('the change is made once, with an idempotency key', async () => {
    for (let i = 0; i < 2; i += 1) expect((await svc(['grants', 'revoke', grant, '--execute'])).exit).toBe(0);
    expect(server.seen.map(({ query }) => query.has('dry_run'))).toEqual([false, false]);
    const keys = server.seen.map(({ headers }) => headers.get('idempotency-key'));
    expect(new Set(keys).size).toBe(2);
    expect(keys[0]).toMatch(/^[\w-]{36}$/);
  });

  test.each([['--dry-run'], ['--dry-run=true']])('%s is rejected before any request', async (flag) => {
    const ran = await svc(['grants', 'revoke', grant, '--execute', flag]);
    expect([ran.exit, ran.out, server.seen]).toEqual([2, '', []]);
  });

  test('--dry-run=false executes', async () => {
    await svc(['grants', 'revoke', grant, '--execute', '--dry-run=false']);
    expect(server.seen[0]?.query.has('dry_run')).toBe(false);
  });

  test('--plan is sent, and a stale plan exits with 15', async () => {
    server.intercept = (request) =>
      request.headers.get('if-plan') === 'old' ? problem('plan_stale') : undefined;
    expect((await svc(['grants', 'revoke', grant, '--execute', '--plan', 'old'])).exit).toBe(15);
    expect((await svc(['grants', 'revoke', grant, '--execute', '--plan', 'new'])).exit).toBe(0);
  });

  test('the id of the deleted thing is printed', async () => {
    const ran = await svc(['tables', 'drop', 'pets', '--app', 'shop', '--execute', '--json']);
    expect(JSON.parse(ran.out)).toEqual({ deleted: true, id: 'pets' });
  });

  test('only POST carries a key', async () => {
    await svc(['connectors', 'delete', 'warehouse', '--execute']);
    expect(server.seen[0]?.headers.get('idempotency-key')).toBeNull();
  });
});

describe('a command that must be confirmed', () => {
  const input = { params: { tenantID: 'demo', grantID: grant }, body: undefined };

  async function ctx(flags: Record<string, unknown>, terminal: boolean, confirm: boolean): Promise<Ctx> {
    const { createClient } = await import('@svc/contract/client.ts');
    const client = createClient({
      baseUrl: server.url,
      credential: () => ({ authorization: 'Bearer good' }),
    });
    const io = {
      env: {},
      err() {},
      isTerminal: async () => terminal,
      terminalColumns: async () => 80,
      confirm: async () => confirm,
    };
    return {
      io,
      client: async () => client,
      signal: new AbortController().signal,
      mutation: mutationMode(flags, flags, []),
    } as unknown as Ctx;
  }

  test('executes with --yes', async () => {
    await mutate(await ctx({ execute: true, yes: true }, false, false), revokeGrant, input, {
      confirm: true,
    });
    expect(server.seen.map(({ query }) => query.has('dry_run'))).toEqual([false]);
  });

  test('exits with 11 before any request if there is no terminal', async () => {
    const refused = mutate(await ctx({ execute: true }, false, true), revokeGrant, input, { confirm: true });
    expect(await refused.catch((cause) => cause.code)).toBe('confirmation_required');
    expect(server.seen).toEqual([]);
  });

  test('exits with 11 with --plan too: a plan is not a confirmation', async () => {
    const refused = mutate(await ctx({ execute: true, plan: 'f1f2f3' }, false, true), revokeGrant, input, {
      confirm: true,
    });
    expect(await refused.catch((cause) => cause.code)).toBe('confirmation_required');
    expect(server.seen).toEqual([]);
  });

  test('with --plan and --yes executes that plan', async () => {
    const flags = { execute: true, plan: 'mine', yes: true };
    await mutate(await ctx(flags, false, false), revokeGrant, input, { confirm: true });
    expect(server.seen.map(({ headers }) => headers.get('if-plan'))).toEqual(['mine']);
  });

  test('with --plan asks too, unless the plan has changed', async () => {
    const same = await ctx({ execute: true, plan: 'f1f2f3' }, true, true);
    await mutate(same, revokeGrant, input, { confirm: true });
    const no = mutate(await ctx({ execute: true, plan: 'f1f2f3' }, true, false), revokeGrant, input, {
      confirm: true,
    });
    expect(await no.catch((cause) => cause.code)).toBe('confirmation_required');
    const stale = mutate(await ctx({ execute: true, plan: 'old' }, true, true), revokeGrant, input, {
      confirm: true,
    });
    expect(await stale.catch((cause) => cause.code ?? cause.problem.code)).toBe('plan_stale');
    expect(server.seen.map(({ query }) => query.has('dry_run'))).toEqual([true, false, true, true]);
  });

  test('exits with 11 with --plan and no terminal, for every such command', async () => {
    const lines = ['apps ownership transfer --app a --to b', 'apps purge a'];
    for (const line of [...lines, 'categories delete a']) {
      const ran = await svc([...line.split(' '), '--execute', '--plan', 'f1f2f3']);
      expect([line, ran.exit, ran.out, server.seen]).toEqual([line, 11, '', []]);
    }
  });

  test('on a terminal is each one that cannot be undone', async () => {
    const irreversible = [
      'apps raw-db disable --app a',
      'tables drop pets --app shop',
      `grants revoke ${grant}`,
      'rows delete pets 1 --app shop',
      'apps storage rm a.txt --app shop',
    ];
    const requests = async (line: string, options: { terminal: boolean; confirm?: boolean }) => {
      const before = server.seen.length;
      const { exit } = await svc([...line.split(' '), '--execute'], options);
      return [exit, server.seen.slice(before).map(({ query }) => query.has('dry_run'))];
    };
    for (const line of irreversible) {
      expect([line, await requests(line, { terminal: false })]).toEqual([line, [0, [false]]]);
      expect([line, await requests(`${line} --yes`, { terminal: true })]).toEqual([line, [0, [false]]]);
      expect([line, await requests(line, { terminal: true, confirm: true })]).toEqual([
        line,
        [0, [true, false]],
      ]);
      expect([line, await requests(line, { terminal: true, confirm: false })]).toEqual([line, [11, [true]]]);
    }
  });

  test('on a terminal is one whose plan cannot be undone this time', async () => {
    const lines = [
      'tables update pets --app shop --history none',
      'apply --app shop --file - --prune --allow-destructive',
      'deploy --app shop --prune --allow-destructive --detach',
      'apps archive shop',
    ];
    const stdin = '{"tables":{}}';
    const requests = async (line: string, options: { terminal: boolean; confirm?: boolean }) => {
      const before = server.seen.length;
      const { exit } = await svc([...line.split(' '), '--execute'], { ...options, input: stdin });
      return [exit, server.seen.slice(before).map(({ query }) => query.has('dry_run'))];
    };
    for (const irreversible of [true, false]) {
      server.intercept = (request) =>
        new URL(request.url).searchParams.has('dry_run')
          ? Response.json(previewOf('a.change', { irreversible }))
          : undefined;
      for (const line of lines) {
        expect([line, await requests(line, { terminal: false })]).toEqual([line, [0, [false]]]);
        expect([line, await requests(`${line} --yes`, { terminal: true })]).toEqual([line, [0, [false]]]);
        expect([line, await requests(line, { terminal: true, confirm: true })]).toEqual([
          line,
          [0, [true, false]],
        ]);
        const refused = irreversible ? [11, [true]] : [0, [true, false]];
        expect([line, await requests(line, { terminal: true, confirm: false })]).toEqual([line, refused]);
      }
    }
    // A deployment loses nothing without the flag, so it needs no preview first.
    expect(await requests('deploy --app shop --prune --detach', { terminal: true })).toEqual([0, [false]]);
  });

  test('on a terminal is none that can be undone', async () => {
    const ran = await svc(['connectors', 'delete', 'warehouse', '--execute'], { terminal: true });
    expect([ran.exit, server.seen.some(({ query }) => query.has('dry_run'))]).toEqual([0, false]);
  });

  test('shows the plan, asks, and executes exactly that plan', async () => {
    await mutate(await ctx({ execute: true }, true, true), revokeGrant, input, { confirm: true });
    expect(server.seen.map(({ query, headers }) => [query.has('dry_run'), headers.get('if-plan')])).toEqual([
      [true, null],
      [false, 'f1f2f3'],
    ]);
  });

  test('changes nothing when the answer is no', async () => {
    const refused = mutate(await ctx({ execute: true }, true, false), revokeGrant, input, { confirm: true });
    expect(await refused.catch((cause) => cause.code)).toBe('confirmation_required');
    expect(server.seen).toHaveLength(1);
  });
});
