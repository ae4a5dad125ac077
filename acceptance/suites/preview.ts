import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../scripts/free-port.ts';
import { commandLine, knownCommands } from '../support/command-inputs.ts';
import { commandList } from '../support/command-list.ts';
import { type Svc, svcFor } from '../support/commands.ts';
import { difference, openServerDatabase, type ServerDatabase } from '../support/database.ts';
import { addressOf, isOfRows, readDocument } from '../support/document.ts';
import { newCallInput } from '../support/operation-inputs.ts';
import { startServer } from '../support/server.ts';
import { everyNth, until } from '../support/until.ts';

import { newWorld, type World } from '../support/world.ts';

export function preview({ nth }: { nth: number }): void {
  interface Plan {
    operation: string;
    target: { kind: string; id: string; name: string };
    changes: Change[];
    warnings: string[];
    irreversible: boolean;
    /** Of a change of a policy. */
    effects?: unknown[];
    fingerprint: string;
  }
  interface Change {
    path: string;
    before: unknown;
    after: unknown;
    effect: string;
  }

  let world: World;
  let database: ServerDatabase;
  let svc: Svc;
  let mutating: string[];

  // A server of its own, on the embedded database: no other test changes the compared data.
  beforeAll(async () => {
    const server = await startServer({ env: { SVC_DATABASE_URL: '' } });
    database = openServerDatabase(server);
    world = await newWorld(server);
    svc = svcFor(server, { token: world.people.A.token, tenant: world.tenant.slug });
    mutating = (await commandList()).filter(({ mutates }) => mutates).map(({ words }) => words);
  });
  afterAll(() => database?.close());

  /** Checks that the action left every byte unchanged. */
  async function changesNothing(what: string, doing: () => Promise<void>): Promise<void> {
    const before = await database.state();
    await doing();
    expect([what, difference(before, await database.state())]).toEqual([what, {}]);
  }

  /** The audit entries that the action added. */
  async function audited(
    doing: () => Promise<void>,
  ): Promise<{ target: string; kind: string; action: string; changes: Change[] }[]> {
    const [{ last } = {}] = await database.query(
      `select coalesce(json_object_agg(tenant_id, seq), '{}')::text as last
       from (select tenant_id, max(seq) as seq from svc.audit_entries group by 1) entries`,
    );
    await doing();
    const added = await database.query(
      `select action, target_kind, target_id, changes from svc.audit_entries
       where seq > coalesce(($1::text::json ->> tenant_id::text)::bigint, 0) order by tenant_id, seq`,
      [last],
    );
    return added.map((row) => ({
      target: `${row.target_kind} ${row.target_id}`,
      kind: String(row.target_kind),
      action: String(row.action),
      changes: row.changes as Change[],
    }));
  }

  /** The plan in the form of the audit; values known only at execution replace the plan's placeholders. */
  function expectPlanned(plan: Plan, entries: { target: string; kind: string; changes: Change[] }[]): void {
    // Entries about other records than the first are distinguished by their kind.
    const done = entries.flatMap(({ target, kind, changes }) =>
      changes.map((change) =>
        target === entries[0]?.target ? change : { ...change, path: `${kind}.${change.path}` },
      ),
    );
    const settled = plan.changes.map((change, at) => ({
      ...change,
      before: settle(change.before, done[at]?.before),
      after: settle(change.after, done[at]?.after),
    }));
    expect([plan.operation, settled]).toEqual([plan.operation, done]);
  }

  function settle(planned: unknown, done: unknown): unknown {
    return typeof planned === 'string' && /^\((?:assigned on|time of) execution\)$/.test(planned)
      ? done
      : planned;
  }

  function expectComplete(plan: Plan): void {
    const { effects: _, ...always } = plan;
    expect(Object.keys(always).sort()).toEqual([
      'changes',
      'fingerprint',
      'irreversible',
      'operation',
      'target',
      'warnings',
    ]);
    expect(plan.operation).toMatch(/^[a-z][a-zA-Z]*\.[a-zA-Z]+$/);
    expect(plan.fingerprint).toMatch(/^\S{16,}$/);
    expect(Object.keys(plan.target).sort()).toEqual(['id', 'kind', 'name']);
    expect([plan.operation, plan.target.kind]).not.toEqual([plan.operation, '']);
    expect(plan.changes.length).toBeGreaterThan(0);
    for (const change of plan.changes) {
      expect(Object.keys(change).sort()).toEqual(['after', 'before', 'effect', 'path']);
      expect(['create', 'update', 'delete']).toContain(change.effect);
    }
  }

  const plainForms = [[], ['--json']];
  const oddForms = [['--yes'], ['--dry-run'], ['--dry-run=false'], ['--yes', '--dry-run=false']];

  describe('every command that changes something', () => {
    test('has inputs in the tests', () => {
      expect(mutating.filter((words) => !knownCommands.includes(words))).toEqual([]);
      expect(mutating.length).toBeGreaterThan(0);
    });

    // The inputs of a command take longer to create than its previews: each is created once.
    test('previews in any form without a changed byte, and executes exactly the previewed changes', async () => {
      // All commands share the form parser: a sample is enough.
      const inEveryForm = new Set(everyNth(mutating, nth * nth));
      const nowhere = { SVC_BASE_URL: `http://127.0.0.1:${freePort()}` };
      let previews = 0;
      for (const words of everyNth(mutating, nth)) {
        const { args, ...rest } = await commandLine(words, world);
        const forms = inEveryForm.has(words) ? [...plainForms, ...oddForms] : plainForms;
        const before = await database.state();
        const ran = await Promise.all(forms.map((form) => svc([...args, ...form], rest)));
        previews += ran.length;
        expect([words, ran.map(({ code }) => code)]).toEqual([words, forms.map(() => 0)]);
        const { dry_run, plan } = ran[1]!.json<{ dry_run: true; plan: Plan }>();
        for (const { stdout } of ran) expect(stdout).toContain(plan.operation);
        for (const { stderr } of ran.slice(4)) expect(stderr).toContain('--execute');
        expect(dry_run).toBeTrue();
        expectComplete(plan);
        if (inEveryForm.has(words)) {
          await expectStale(words, args, rest);
          await expectContradictory(words, args, { ...rest, env: { ...rest.env, ...nowhere } });
        }
        const previewed = await database.state();
        expect([words, difference(before, previewed)]).toEqual([words, {}]);

        const entries = await audited(async () => {
          const line = [...args, '--execute', '--yes', '--json', '--plan', plan.fingerprint];
          const done = await svc(line, rest);
          expect([words, done.code, done.stderr.includes('plan_stale')]).toEqual([words, 0, false]);
          expect(done.json()).not.toHaveProperty('dry_run');
        });
        // Changes of rows are not in the audit; the object that a file becomes is.
        const isAudited = !words.startsWith('rows ');
        const isOfObject = words === 'rows upload';
        expect([words, entries.length > 0]).toEqual([words, isAudited || isOfObject]);
        // An e-mail and a new URL are changes of their own.
        const isOfTwo = ['apps storage put', 'apps static deploy', 'deploy'].includes(words);
        if (isAudited)
          expectPlanned(plan, isOfTwo ? entries.filter(({ action }) => action === plan.operation) : entries);
        const changed = Object.keys(difference(previewed, await database.state()));
        expect([words, changed.some((name) => !/audit|outbox|pgboss/.test(name))]).toEqual([words, true]);
      }
      console.log(
        `preview: ${Math.ceil(mutating.length / nth)} commands that change something, ${previews} previews, 0 rows changed`,
      );
    });

    type Options = Parameters<Svc>[1];

    /** Exit 15 for a plan that the server did not make now. */
    async function expectStale(words: string, args: string[], options: Options): Promise<void> {
      const ran = await svc([...args, '--execute', '--yes', '--json', '--plan', '0'.repeat(32)], options);
      expect([words, ran.code, JSON.parse(ran.stderr).code]).toEqual([words, 15, 'plan_stale']);
      expect(ran.stdout).toBe('');
    }

    /** `--execute` with `--dry-run` is refused before any request: exit 2 without a server, not 12. */
    async function expectContradictory(words: string, args: string[], nowhere: Options): Promise<void> {
      for (const flag of ['--dry-run', '--dry-run=true']) {
        const ran = await svc([...args, '--execute', flag], nowhere);
        expect([words, flag, ran.code, ran.stdout]).toEqual([words, flag, 2, '']);
      }
      expect([words, (await svc(args, nowhere)).code]).toEqual([words, 12]);
    }
  });

  describe('a plan', () => {
    test("becomes stale by somebody else's change, and the next preview shows the new state", async () => {
      const { args } = await commandLine('connectors update', world);
      const preview = async () => (await svc([...args, '--json'])).json<{ plan: Plan }>().plan;
      const plan = await preview();
      expect((await preview()).fingerprint).toBe(plan.fingerprint);
      const path = `${world.tenant.base}/connectors/${plan.target.id}`;
      expect((await world.as.A('PATCH', path, { description: 'meanwhile' })).status).toBe(200);
      const stale = await svc([...args, '--execute', '--plan', plan.fingerprint]);
      expect([stale.code, stale.stderr.includes('plan_stale')]).toEqual([15, true]);
      expect((await world.as.A('GET', path)).body.description).toBe('meanwhile');
      const fresh = await preview();
      expect(fresh.changes.find(({ path: field }) => field === 'description')?.before).toBe('meanwhile');
      expect((await svc([...args, '--execute', '--plan', fresh.fingerprint])).code).toBe(0);
    });

    test('ends with the command that executes it, and that command does', async () => {
      const { args } = await commandLine('presets create', world);
      const name = args[args.indexOf('--name') + 1];
      const { stdout } = await svc(args);
      const line = stdout.trimEnd().split('\n').at(-1)!;
      expect(line).toMatch(/svc presets create .*--execute/);
      const executed = await svc(line.slice(line.indexOf('svc ') + 4).split(' '));
      expect([executed.code, executed.stderr]).toEqual([0, '']);
      expect((await world.as.A('GET', `${world.tenant.base}/presets/${name}`)).status).toBe(200);
    });

    test('with --plan but without --execute stays a preview', async () => {
      const { args } = await commandLine('connectors create', world);
      await changesNothing('--plan alone', async () => {
        const ran = await svc([...args, '--plan', '0'.repeat(32)]);
        expect([ran.code, ran.stderr.includes('--execute')]).toEqual([0, true]);
      });
    });

    test('without changes changes nothing when it is executed', async () => {
      const { as, tenant, people } = world;
      const create = async (path: string, body: object) =>
        (await as.A('POST', `${tenant.base}/${path}`, body)).body.id as string;
      const connector = await create('connectors', { name: 'Same', slug: 'same', kind: 'http' });
      const policy = await create('access-policies', { name: 'same' });
      const preset = await create('presets', { name: 'same', actions: ['read'] });
      const about = { subject_id: people.M.id, connector_id: connector, preset_id: preset };
      const grant = await create('grants', { ...about, scope_resource_paths: ['sales'] });
      const wrote: string[] = [];
      for (const args of [
        ['members', 'set', people.M.id, '--role', 'tenant_member'],
        ['connectors', 'update', connector, '--name', 'Same'],
        ['policies', 'update', policy, '--name', 'same'],
        ['presets', 'update', preset, '--actions', 'read'],
        ['grants', 'scope', 'set', grant, 'sales'],
      ]) {
        const { plan } = (await svc([...args, '--json'])).json<{ plan: Plan }>();
        expect([args, plan.changes]).toEqual([args, []]);
        const before = await database.state();
        expect((await svc([...args, '--execute'])).code).toBe(0);
        const tables = Object.keys(difference(before, await database.state()));
        if (tables.some((name) => /^svc\.(?!idempotency)/.test(name)))
          wrote.push(`svc ${args.slice(0, 2).join(' ')} wrote ${tables.join(', ')}`);
      }
      expect(wrote).toEqual([]);
    });

    test('is in the audit under the name of its operation after execution', async () => {
      const { args } = await commandLine('grants revoke', world);
      const { plan } = (await svc([...args, '--json'])).json<{ plan: Plan }>();
      expect((await svc([...args, '--execute', '--yes'])).code).toBe(0);
      const line = ['audit', 'list', '--action', plan.operation, '--target', plan.target.id, '--json'];
      expect((await svc(line)).json<{ items: unknown[] }>().items).toHaveLength(1);
    });
  });

  test('the audit anchors contain executed entries and no previewed ones', async () => {
    const entries = await database.query('select tenant_id, seq, hash from svc.audit_entries');
    const made = new Set(entries.map(({ tenant_id, seq, hash }) => `${tenant_id} ${seq} ${hash}`));
    const path = join(world.tenant.server.dataDir, 'audit-anchors.jsonl');
    const file = await until(
      'an anchor is written',
      async () => existsSync(path) && readFileSync(path, 'utf8'),
    );
    const anchors = file
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(anchors.length).toBeGreaterThan(0);
    expect(anchors.filter(({ tenantId, seq, hash }) => !made.has(`${tenantId} ${seq} ${hash}`))).toEqual([]);
  });

  /** A person decides the outcome elsewhere: the plan describes the outcome of an approval. */
  const decidedElsewhere = new Set(['gitHost.pollLink']);

  describe('every operation that changes something', () => {
    // Other people: some operations allow ten calls a minute, of which the commands have made some.
    beforeAll(async () => {
      world = await newWorld(world.tenant.server);
    });

    test('with dry_run returns a complete plan, changes nothing, and executes exactly that plan', async () => {
      const { operations } = await readDocument(world.tenant.server);
      const changing = operations.filter(({ mutates }) => mutates);
      for (const operation of everyNth(changing, nth)) {
        // An admin may run most operations; the rest need an app's owner.
        const letter = operation.who.A === 'y' || operation.who.A === 'own' ? 'A' : 'O';
        const { params, body } = await newCallInput(operation.id, world, letter);
        const address = addressOf(operation, params);
        const preview = addressOf(operation, params, { dry_run: 'true' });
        let plan: Plan | undefined;
        await changesNothing(operation.id, async () => {
          const once: Record<string, string> =
            operation.method === 'POST' ? { 'idempotency-key': Bun.randomUUIDv7() } : {};
          const answer = await world.as[letter](operation.method, preview, body, once);
          expect([operation.id, answer.status, Object.keys(answer.body)]).toEqual([
            operation.id,
            200,
            ['dry_run', 'plan'],
          ]);
          plan = answer.body.plan;
          const stale = await world.as[letter](operation.method, address, body, { 'if-plan': 'another' });
          expect([operation.id, stale.status, stale.body.code]).toEqual([operation.id, 409, 'plan_stale']);
        });
        expectComplete(plan!);
        expect(plan!.operation).toBe(operation.id);
        if (decidedElsewhere.has(operation.id)) continue;
        const entries = await audited(async () => {
          const ifPlan = { 'if-plan': plan!.fingerprint };
          const answer = await world.as[letter](operation.method, address, body, ifPlan);
          expect([operation.id, answer.status]).toEqual([operation.id, operation.success]);
        });
        // Changes of rows are not in the audit.
        if (isOfRows(operation)) expect([operation.id, entries]).toEqual([operation.id, []]);
        else expectPlanned(plan!, entries);
      }
      console.log(
        `preview: ${Math.ceil(changing.length / nth)} operations previewed and executed, plans and changes the same`,
      );
    });

    test('takes dry_run as true or false and as nothing else', async () => {
      const path = `${world.tenant.base}/connectors`;
      await changesNothing('odd dry_run', async () => {
        for (const value of ['', '1', 'yes', 'TRUE', 'true&dry_run=false']) {
          const answer = await world.as.A('POST', `${path}?dry_run=${value}`, { name: 'odd', kind: 'http' });
          expect([value, answer.status]).toEqual([value, 400]);
        }
      });
      const read = await world.as.A('GET', `${path}?dry_run=true`);
      expect([read.status, read.body.code]).toEqual([400, 'unknown_parameter']);
    });
  });
}
