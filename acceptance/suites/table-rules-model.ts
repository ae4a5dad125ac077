import { beforeAll, expect, test } from 'bun:test';
import { setApp } from '../support/database.ts';
import { bearer, type Call, done, newMember, type Person, tokenThrough } from '../support/people.ts';
import { newRandom } from '../support/random.ts';
import { lines, ndjson, type RowsWorld, rowsWorld, type TestTable } from '../support/rows.ts';

/** Random rules and requests, compared with a model of a few lines that knows neither SQL nor the server. */
export function tableRulesModel(size: { ruleSets: number; requestsPerSet: number }): void {
  const random = newRandom();
  let world: RowsWorld;
  let people: Visitor[];

  interface Visitor {
    name: string;
    id: string;
    roles: string[];
    region: string | null;
    isOwner: boolean;
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
    compared('app', () => false),
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
  type Rules = Record<(typeof actions)[number] | 'column', Part[]>;

  beforeAll(async () => {
    world = await rowsWorld();
    const { tenant, owner, server, app } = world;
    await setApp(server, app.id, { visibility: 'invite_only' });
    const visitors: [name: string, roles: string[], region: string | null][] = [
      ['ada', [], 'eu'],
      ['ben', [], null],
      ['mona', ['manager'], 'us'],
      ['carl', ['cook', 'open'], 'eu'],
    ];
    people = await Promise.all(
      visitors.map(async ([name, roles, region]) => {
        const person = await newMember(tenant);
        await done(owner.call('POST', `${app.base}/members`, { user_id: person.id }));
        for (const role of roles)
          await done(owner.call('POST', `${app.base}/roles`, { role, user: person.id }));
        if (region !== null) {
          const member = `${tenant.base}/members/${person.id}`;
          await done(tenant.admin.call('PATCH', member, { attributes: { region } }));
        }
        const token = await tokenThrough(server, person, `${tenant.slug}/${app.slug}`);
        return visitor(name, person, { roles, region }, (table) => world.as(bearer({ token }), table));
      }),
    );
    const asOwner = (table: TestTable) => world.as(bearer(owner), table);
    people.push({ ...visitor('owner', owner, { roles: [], region: null }, asOwner), isOwner: true });
  });

  function visitor(
    name: string,
    { id }: Pick<Person, 'id'>,
    facts: Pick<Visitor, 'roles' | 'region'>,
    of: Visitor['of'],
  ): Visitor {
    return { name, id, ...facts, isOwner: false, of };
  }

  const newRules = (): Rules => {
    const list = () => random.times(1 + random.below(2), () => random.pick(parts));
    return { read: list(), insert: list(), update: list(), delete: list(), column: list() };
  };
  const allows = (list: readonly Part[], row: Row, who: Visitor) =>
    who.isOwner || list.some((part) => part.holds(row, who));
  const newValues = () => ({
    state: random.pick(['open', 'new', 'closed']),
    n: random.pick([null, 1, 3, 4, 9]),
    region: random.pick(['eu', 'us']),
  });

  test('answers what the model says', async () => {
    let requests = 0;
    for (let set = 0; set < size.ruleSets; set++) {
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
      for (let request = 0; request < size.requestsPerSet; request++) {
        requests++;
        const who = random.pick(people);
        const said = `${describe(rules)}; ${who.name}`;
        rows = await oneRequest(table, rules, rows, who, said);
      }
      const stored = await table.list('?per_page=100&sort=id&select=id,by,state,n,region');
      expect(stored).toEqual(rows.toSorted((a, b) => (a.id < b.id ? -1 : 1)));
    }
    console.log(
      `table rules: seed ${random.seed}; ${size.ruleSets} rule sets, ${requests} requests; differences: 0`,
    );
  });

  const describe = (rules: Rules) =>
    Object.entries(rules)
      .map(([action, list]) => `${action}: ${list.map(({ text }) => text).join(' | ')}`)
      .join('; ');

  /** A table is there for a visitor if some action could be allowed for some row. */
  function reaches(rules: Rules, who: Visitor): boolean {
    return who.isOwner || actions.some((action) => rules[action].some((part) => isPossible(part, who)));
  }

  function isPossible({ text }: Part, who: Visitor): boolean {
    if (text === 'none' || text === 'app') return false;
    if (text.startsWith('role:')) return who.roles.includes(text.slice(5));
    return !text.includes('@me.region') || who.region !== null;
  }

  async function oneRequest(table: TestTable, rules: Rules, rows: Row[], who: Visitor, said: string) {
    const send = who.of(table);
    const may = (action: (typeof actions)[number]) =>
      who.isOwner || rules[action].some((part) => isPossible(part, who));
    const visible = rows.filter((row) => allows(rules.read, row, who));
    const seenN = (row: Row) => (allows(rules.column, row, who) ? row.n : null);
    const hasColumn = who.isOwner || rules.column.some((part) => isPossible(part, who));
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
    const refused = (action: (typeof actions)[number]) => {
      if (!reaches(rules, who)) return 404;
      return may(action) ? null : 403;
    };
    const target = random.pick(rows);
    const expectStatus = async (
      action: (typeof actions)[number],
      call: Promise<{ status: number }>,
      expected: number,
    ) => {
      expect([said, kind, (await call).status]).toEqual([said, kind, refused(action) ?? expected]);
    };
    switch (kind) {
      case 'list':
      case 'export': {
        const accept: Record<string, string> = kind === 'export' ? { accept: 'application/x-ndjson' } : {};
        const select = hasColumn ? 'id,n' : 'id';
        const answer = await send(
          'GET',
          `?per_page=100&sort=id&select=${select}`.replace(kind === 'export' ? 'per_page=100&' : '', ''),
          undefined,
          accept,
        );
        const blocked = refused('read');
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
          .map((row) => (hasColumn ? { id: row.id, n: seenN(row) } : { id: row.id }));
        expect([said, kind, listed]).toEqual([said, kind, wanted]);
        return rows;
      }
      case 'count':
      case 'filter': {
        const filter = kind === 'filter' ? '?n=gt.2' : '';
        const answer = await send('GET', `/_count${filter}`);
        const count = visible.filter((row) => kind === 'count' || (seenN(row) ?? 0) > 2).length;
        const isUnknown = kind === 'filter' && !hasColumn;
        const expected = refused('read') ?? (isUnknown ? 400 : 200);
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
        const values = newValues();
        const id = Bun.randomUUIDv7();
        const row: Row = { id, by: who.id, ...values };
        const body = kind === 'batch' ? lines([{ id, ...values }]) : { id, ...values };
        const isAllowed = allows(rules.insert, row, who);
        const call = send('POST', '', body, kind === 'batch' ? ndjson : {});
        // The number of batches per minute is limited.
        if (kind === 'batch' && (await call).status === 429) return rows;
        await expectStatus('insert', call, isAllowed ? 201 : 403);
        return (await call).status === 201 ? [...rows, row] : rows;
      }
      case 'update': {
        if (!target) return rows;
        const values = newValues();
        const after = { ...target, ...values };
        const mayBefore = allows(rules.update, target, who);
        const isAllowed = mayBefore && allows(rules.update, after, who);
        const isKnown = mayBefore || visible.includes(target);
        const call = send('PATCH', `/${target.id}`, values, { prefer: 'return=minimal' });
        await expectStatus('update', call, isAllowed ? 204 : isKnown ? 403 : 404);
        return (await call).status === 204 ? rows.map((row) => (row === target ? after : row)) : rows;
      }
      case 'delete': {
        if (!target || rows.length < 4) return rows;
        const isAllowed = allows(rules.delete, target, who);
        const call = send('DELETE', `/${target.id}`);
        await expectStatus('delete', call, isAllowed ? 204 : visible.includes(target) ? 403 : 404);
        return (await call).status === 204 ? rows.filter((row) => row !== target) : rows;
      }
    }
  }
}
