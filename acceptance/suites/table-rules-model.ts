import { beforeAll, expect, test } from 'bun:test';
import { type GovernedWorld, governedWorld } from '../support/governed.ts';
import { bearer, type Call, done, newMember, type Person, tokenThrough } from '../support/people.ts';
import { newRandom } from '../support/random.ts';
import { lines, ndjson, type TestTable } from '../support/rows.ts';
import { until } from '../support/until.ts';
import { appToken } from './connector-principals.ts';

/** Random rules, grants, policies and requests, compared with a model of a few lines that knows neither SQL nor the server. */
export function tableRulesModel(size: { ruleSets: number; requestsPerSet: number }): void {
  const random = newRandom();
  let world: GovernedWorld;
  let people: Visitor[];

  interface Visitor {
    name: string;
    id: string;
    roles: string[];
    region: string | null;
    /** How they come: through the app (or as the app), as its owner, or with a grant. */
    by: 'app' | 'owner' | 'grant';
    /** The identity of the app, which is nobody's visitor. */
    isApp?: boolean;
    of(table: TestTable): Call;
  }

  interface Row {
    id: string;
    by: string;
    state: string;
    n: number | null;
    region: string;
  }

  interface Part {
    text: string;
    holds(row: Row, who: Visitor): boolean;
  }

  const compared = (name: string, holds: Part['holds']): Part => ({ text: name, holds });
  const parts: readonly Part[] = [
    compared('any', () => true),
    compared('none', () => false),
    compared('app', (_, who) => who.isApp === true),
    compared('own', (row, who) => row.by === who.id),
    compared('role:manager', (_, who) => who.roles.includes('manager')),
    compared('role:cook', (_, who) => who.roles.includes('cook')),
    compared('n=gt.3', ({ n }) => n !== null && n > 3),
    compared('n=is.null', ({ n }) => n === null),
    compared('state=neq.closed', ({ state }) => state !== 'closed'),
    compared('or=(state.eq.open,n.lt.2)', ({ state, n }) => state === 'open' || (n !== null && n < 2)),
    compared('region=eq.@me.region', ({ region }, who) => who.region !== null && region === who.region),
    compared('region=not.eq.@me.region', ({ region }, who) => who.region !== null && region !== who.region),
    compared('by=eq.@me.id&state=in.(open,new)', ({ by, state }, who) => by === who.id && state !== 'closed'),
    compared('state=in.(@me.roles)', ({ state }, who) => who.roles.includes(state)),
  ];
  const actions = ['read', 'insert', 'update', 'delete'] as const;
  type Action = (typeof actions)[number] | 'export';
  interface Policy {
    filter: Part;
    /** What it does to the column n. */
    n: 'clear' | 'denied' | 'null';
  }
  interface Rules extends Record<(typeof actions)[number] | 'column', Part[]> {
    grant: { actions: Action[]; policies: Policy[] };
    enforced: Policy[];
  }

  beforeAll(async () => {
    world = await governedWorld();
    const { tenant, owner, server, app } = world;
    const visitors: [name: string, roles: string[], region: string | null][] = [
      ['ada', [], 'eu'],
      ['ben', [], null],
      ['mona', ['manager'], 'us'],
      ['carl', ['cook', 'open'], 'eu'],
    ];
    people = await Promise.all(
      visitors.map(async ([name, roles, region]) => {
        const person = await newMember(tenant);
        for (const role of roles)
          await done(owner.call('POST', `${app.base}/roles`, { role, user: person.id }));
        if (region !== null) await setRegion(person, region);
        const token = await tokenThrough(server, person, `${tenant.slug}/${app.slug}`);
        return visitor(name, person, { roles, region }, (table) => world.as(bearer({ token }), table));
      }),
    );
    const gil = await newMember(tenant);
    await setRegion(gil, 'us');
    const direct = (person: Person) => (table: TestTable) => world.as(bearer(person), table);
    const token = await appToken(world, app);
    people.push(
      { ...visitor('owner', owner, { roles: [], region: null }, direct(owner)), by: 'owner' },
      {
        ...visitor('the app', { id: app.id }, { roles: [], region: null }, (table) =>
          world.as(bearer({ token }), table),
        ),
        isApp: true,
      },
      { ...visitor('gil', gil, { roles: [], region: 'us' }, direct(gil)), by: 'grant' },
    );
  });

  const setRegion = ({ id }: Person, region: string) =>
    done(world.tenant.admin.call('PATCH', `${world.tenant.base}/members/${id}`, { attributes: { region } }));

  function visitor(
    name: string,
    { id }: Pick<Person, 'id'>,
    facts: Pick<Visitor, 'roles' | 'region'>,
    of: Visitor['of'],
  ): Visitor {
    return { name, id, ...facts, by: 'app', of };
  }

  const newRules = (): Rules => {
    const list = () => random.times(1 + random.below(2), () => random.pick(parts));
    const filters = parts.filter(({ text }) => text.includes('='));
    const policy = (): Policy => ({
      filter: random.pick(filters),
      n: random.pick(['clear', 'clear', 'denied', 'null']),
    });
    return {
      read: list(),
      insert: list(),
      update: list(),
      delete: list(),
      column: list(),
      grant: {
        actions: (['read', 'read', ...actions, 'export'] as const).filter(() => random.chance(0.7)),
        policies: random.times(random.below(3), policy),
      },
      enforced: random.chance(0.5) ? [policy()] : [],
    };
  };

  /** The policies that narrow what somebody may do. */
  const policiesFor = ({ grant, enforced }: Rules, who: Visitor) => [
    ...(who.by === 'grant' ? grant.policies : []),
    ...enforced,
  ];

  function allows(rules: Rules, action: Action, row: Row, who: Visitor): boolean {
    return (
      policiesFor(rules, who).every(({ filter }) => filter.holds(row, who)) &&
      (who.by === 'app'
        ? rules[action === 'export' ? 'read' : action].some((part) => part.holds(row, who))
        : who.by === 'owner' || rules.grant.actions.includes(action))
    );
  }

  /** Whether the action could be allowed for some row. A policy that no row meets leaves an empty table. */
  function may(rules: Rules, action: Action, who: Visitor): boolean {
    if (who.by === 'app')
      return rules[action === 'export' ? 'read' : action].some((part) => isPossible(part, who));
    return who.by === 'owner' || rules.grant.actions.includes(action);
  }

  const hasColumn = (rules: Rules, who: Visitor) =>
    policiesFor(rules, who).every(({ n }) => n !== 'denied') &&
    (who.by !== 'app' || rules.column.some((part) => isPossible(part, who)));
  const canWriteColumn = (rules: Rules, who: Visitor) =>
    policiesFor(rules, who).every(({ n }) => n === 'clear');
  const seenColumn = (rules: Rules, row: Row, who: Visitor) =>
    policiesFor(rules, who).every(({ n }) => n === 'clear') &&
    (who.by !== 'app' || rules.column.some((part) => part.holds(row, who)))
      ? row.n
      : null;

  const newValues = () => ({
    state: random.pick(['open', 'new', 'closed']),
    n: random.pick([null, 1, 3, 4, 9]),
    region: random.pick(['eu', 'us']),
  });

  test('answers what the model says', async () => {
    let requests = 0;
    let started = 0;
    const oneSet = async () => {
      const rules = newRules();
      const table = await world.table(['by:uuid', 'state:text', 'n:int:nullable', 'region:text'], {
        owner_column: 'by',
        access: {
          ...Object.fromEntries(actions.map((action) => [action, rules[action].map(({ text }) => text)])),
          columns: { n: { read: rules.column.map(({ text }) => text), write: ['any'] } },
        },
      });
      const given = Array.from({ length: 12 }, () => ({ ...newValues(), by: random.pick(people).id }));
      await table.insert(...given);
      let rows: Row[] = (await table.list('?per_page=100&select=id,by,state,n,region')) as Row[];
      const govern = await applyPolicies(table, rules);
      await until('the policies are in use', async () => hasOwnersView(table, rules, rows));
      for (let request = 0; request < size.requestsPerSet; request++) {
        requests++;
        const who = random.pick(people);
        const said = `${describe(rules)}; ${who.name}`;
        rows = await oneRequest(table, rules, rows, who, said);
      }
      await govern.end();
      const open = { ...rules, enforced: [] };
      await until('the policies are gone', async () => hasOwnersView(table, open, rows));
      const stored = await table.list('?per_page=100&sort=id&select=id,by,state,n,region');
      expect(stored).toEqual(sorted(rows));
    };
    const someSets = async () => {
      while (started++ < size.ruleSets) await oneSet();
    };
    await Promise.all([someSets(), someSets(), someSets()]);
    console.log(
      `table rules: seed ${random.seed}; ${size.ruleSets} rule sets, ${people.length} people, ${requests} requests; differences: 0`,
    );
  });

  async function applyPolicies(table: TestTable, { grant, enforced }: Rules) {
    const { tenant } = world;
    const path = world.pathOf(table);
    const create = ({ filter, n }: Policy, isEnforced: boolean) =>
      world.policy(path, {
        row_filter: filter.text,
        enforced: isEnforced,
        ...(n === 'denied' && { columns: { mode: 'deny', names: ['n'] } }),
        ...(n === 'null' && { masks: [{ column: 'n', kind: 'null' }] }),
      });
    const policy_ids = [];
    for (const policy of grant.policies) policy_ids.push(await create(policy, false));
    const gil = people.find(({ by }) => by === 'grant')!;
    if (grant.actions.length > 0)
      await world.grant(gil, path, {
        policy_ids,
        preset_id: await world.preset(...new Set(grant.actions)),
      });
    const ids: string[] = [];
    for (const policy of enforced) ids.push(await create(policy, true));
    return {
      async end() {
        for (const id of ids)
          await done(tenant.admin.call('PATCH', `${tenant.base}/access-policies/${id}`, { enabled: false }));
      },
    };
  }

  const sorted = (rows: readonly Row[]) => rows.toSorted((a, b) => (a.id < b.id ? -1 : 1));

  async function hasOwnersView(table: TestTable, rules: Rules, rows: readonly Row[]): Promise<boolean> {
    const owner = people.find(({ by }) => by === 'owner')!;
    if (!may(rules, 'read', owner)) return (await table.send('GET', '')).status === 403;
    const select = hasColumn(rules, owner) ? 'id,n' : 'id';
    const answer = await table.send('GET', `?per_page=100&sort=id&select=${select}`);
    const wanted = sorted(rows).filter((row) => allows(rules, 'read', row, owner));
    const seen = wanted.map((row) =>
      hasColumn(rules, owner) ? { id: row.id, n: seenColumn(rules, row, owner) } : { id: row.id },
    );
    const isHidden = (await table.send('GET', '?select=n')).status === 400;
    return Bun.deepEquals(answer.body.data, seen) && isHidden !== hasColumn(rules, owner);
  }

  const describe = ({ grant, enforced, ...rules }: Rules) => {
    const texts = (policies: Policy[]) =>
      policies.map(({ filter, n }) => `${filter.text} n ${n}`).join(' & ');
    const lists = Object.entries(rules).map(
      ([action, list]) => `${action}: ${list.map(({ text }) => text).join(' | ')}`,
    );
    return `${lists.join('; ')}; grant: ${grant.actions} ${texts(grant.policies)}; enforced: ${texts(enforced)}`;
  };

  /** A table is there for a visitor if some action could be allowed for some row. */
  function canAccess(rules: Rules, who: Visitor): boolean {
    return actions.some((action) => may(rules, action, who)) || may(rules, 'export', who);
  }

  function isPossible({ text }: Part, who: Visitor): boolean {
    if (text === 'none') return false;
    if (text === 'app') return who.isApp === true;
    if (text.startsWith('role:')) return who.roles.includes(text.slice(5));
    return !text.includes('@me.region') || who.region !== null;
  }

  async function oneRequest(table: TestTable, rules: Rules, rows: Row[], who: Visitor, said: string) {
    const send = who.of(table);
    const visible = rows.filter((row) => allows(rules, 'read', row, who));
    const hasN = hasColumn(rules, who);
    const seenN = (row: Row) => seenColumn(rules, row, who);
    const kind = random.pick([
      'list',
      'count',
      'filter',
      'get',
      'export',
      'insert',
      'batch',
      'update',
      'delete',
    ] as const);
    const refusalStatus = (action: Action) => {
      if (!canAccess(rules, who)) return 404;
      return may(rules, action, who) ? null : 403;
    };
    const writableValues = (values: ReturnType<typeof newValues>) => {
      const { n, ...rest } = values;
      return canWriteColumn(rules, who) ? values : rest;
    };
    const target = random.pick(rows);
    const expectStatus = async (action: Action, call: Promise<{ status: number }>, expected: number) => {
      expect([said, kind, (await call).status]).toEqual([said, kind, refusalStatus(action) ?? expected]);
    };
    switch (kind) {
      case 'list':
      case 'export': {
        const accept: Record<string, string> = kind === 'export' ? { accept: 'application/x-ndjson' } : {};
        const select = hasN ? 'id,n' : 'id';
        const answer = await send(
          'GET',
          `?per_page=100&sort=id&select=${select}`.replace(kind === 'export' ? 'per_page=100&' : '', ''),
          undefined,
          accept,
        );
        const blocked = refusalStatus('read') ?? (kind === 'export' ? refusalStatus('export') : null);
        if (blocked !== null) {
          expect([said, kind, answer.status]).toEqual([said, kind, blocked]);
          return rows;
        }
        const listed =
          kind === 'export'
            ? answer.text
                .split('\n')
                .filter(Boolean)
                .map((line) => JSON.parse(line))
            : answer.body.data;
        const wanted = visible
          .toSorted((a, b) => (a.id < b.id ? -1 : 1))
          .map((row) => (hasN ? { id: row.id, n: seenN(row) } : { id: row.id }));
        expect([said, kind, listed]).toEqual([said, kind, wanted]);
        return rows;
      }
      case 'count':
      case 'filter': {
        const filter = kind === 'filter' ? '?n=gt.2' : '';
        const answer = await send('GET', `/_count${filter}`);
        const count = visible.filter((row) => kind === 'count' || (seenN(row) ?? 0) > 2).length;
        const isUnknown = kind === 'filter' && !hasN;
        const expected = refusalStatus('read') ?? (isUnknown ? 400 : 200);
        expect([said, kind, answer.status]).toEqual([said, kind, expected]);
        if (expected === 200) expect([said, kind, answer.body.count]).toEqual([said, kind, count]);
        return rows;
      }
      case 'get':
        if (target)
          await expectStatus('read', send('GET', `/${target.id}`), visible.includes(target) ? 200 : 404);
        return rows;
      case 'insert':
      case 'batch': {
        if (rows.length > 60) return rows;
        const values = writableValues(newValues());
        const id = Bun.randomUUIDv7();
        const row: Row = { id, by: who.id, n: null, ...values };
        const body = kind === 'batch' ? lines([{ id, ...values }]) : { id, ...values };
        const isAllowed = allows(rules, 'insert', row, who);
        const call = send('POST', '', body, kind === 'batch' ? ndjson : {});
        // The number of batches per minute is limited.
        if (kind === 'batch' && (await call).status === 429) return rows;
        await expectStatus('insert', call, isAllowed ? 201 : 403);
        return (await call).status === 201 ? [...rows, row] : rows;
      }
      case 'update': {
        if (!target) return rows;
        const values = writableValues(newValues());
        const after = { ...target, ...values };
        const mayBefore = allows(rules, 'update', target, who);
        const isAllowed = mayBefore && allows(rules, 'update', after, who);
        const isKnown = mayBefore || visible.includes(target);
        const call = send('PATCH', `/${target.id}`, values, { prefer: 'return=minimal' });
        await expectStatus('update', call, isAllowed ? 204 : isKnown ? 403 : 404);
        return (await call).status === 204 ? rows.map((row) => (row === target ? after : row)) : rows;
      }
      case 'delete': {
        if (!target || rows.length < 4) return rows;
        const isAllowed = allows(rules, 'delete', target, who);
        const call = send('DELETE', `/${target.id}`);
        await expectStatus('delete', call, isAllowed ? 204 : visible.includes(target) ? 403 : 404);
        return (await call).status === 204 ? rows.filter((row) => row !== target) : rows;
      }
    }
  }
}
