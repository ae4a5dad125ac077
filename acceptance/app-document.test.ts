import { beforeAll, describe, expect, test } from 'bun:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { violations } from './support/json-schema.ts';
import { type Call, caller, done, newMember } from './support/people.ts';
import { ndjson, type RowsWorld, rowsWorld, type TestTable } from './support/rows.ts';

// biome-ignore lint/suspicious/noExplicitAny: a document is as deep as it is.
type Any = any;

const types = ['text', 'int', 'bigint', 'float', 'bool', 'timestamptz', 'uuid', 'jsonb'];
const columns = [
  ...types.map((type) => `${type}_a:${type}`),
  ...types.map((type) => `${type}_b:${type}:nullable`),
  'text_c:text:draft, (or not)',
  'int_c:int:-7',
  'bigint_c:bigint:9223372036854775807',
  'float_c:float:0.25',
  'bool_c:bool:false',
  'timestamptz_c:timestamptz:2026-01-01T00:00:00+09:00',
  'timestamptz_d:timestamptz:now()',
  'uuid_c:uuid:gen_random_uuid()',
  'jsonb_c:jsonb:{"a":[1,"b"]}',
  'decimal_c:decimal(12,2,min=5):nullable',
  'enum_c:enum(open,paid):nullable',
  'texts_c:text[](max_length=1):nullable',
  'ints_c:int[]:[7]',
  'no_c:autonumber',
  'keeper:uuid',
];

let world: RowsWorld;
let table: TestTable;
let document: Any;
let at: Call;

beforeAll(async () => {
  world = await rowsWorld();
  table = await world.table(columns, { owner_column: 'keeper', description: 'All there is.' });
  at = caller(world.server, { authorization: `Bearer ${world.owner.token}` });
  document = await fetchDocument();
});

const documentPath = () => `${world.tenant.base}/apps/${world.app.slug}/openapi.json`;

async function fetchDocument(): Promise<Any> {
  const answer = await at('GET', documentPath());
  expect(answer.status).toBe(200);
  return answer.body;
}

/** Resolves a reference; schemas contain no other kind. */
function resolved(value: Any): Any {
  if (typeof value?.$ref !== 'string') return value;
  return value.$ref
    .split('/')
    .slice(1)
    .reduce((found: Any, part: string) => found[part], document);
}

const schema = (kind: string) => document.components.schemas[`${table.name}${kind}`];
const path = () => `/data/${world.tenant.slug}/${world.app.slug}/${table.name}`;
const query = (name: string, value: unknown) =>
  `?${[value]
    .flat()
    .map((each) => `${name}=${encodeURIComponent(String(each))}`)
    .join('&')}`;

describe("an app's own OpenAPI document", () => {
  test('is valid, contains the server URL, and has a version that changes with the tables only', async () => {
    const result = await new Validator().validate(structuredClone(document));
    expect([result.errors, result.valid]).toEqual([undefined, true]);
    expect(document.servers).toEqual([{ url: world.server.baseUrl }]);
    expect(Object.keys(document.paths).sort()).toEqual([
      `${world.data}/_batch`,
      path(),
      `${path()}/_access`,
      `${path()}/_aggregate`,
      `${path()}/_count`,
      `${path()}/{id}`,
    ]);
    const { headers } = await at('GET', documentPath());
    const same = await at('GET', documentPath(), undefined, { 'if-none-match': headers.get('etag') ?? '' });
    expect(same.status).toBe(304);
    const other = await world.table(['a:int']);
    expect((await fetchDocument()).info.version).not.toBe(document.info.version);
    expect((await other.shape('DELETE')).status).toBe(204);
    expect((await fetchDocument()).info.version).toBe(document.info.version);
  });

  test('has an example row that can be inserted and is returned in the form of its schema', async () => {
    const { content } = document.paths[path()].post.requestBody;
    const { example } = content['application/json'];
    // The owner and the autonumber are set by the service.
    expect(Object.keys(example).length).toBe(columns.length - 2);
    expect(violations(schema('Insert'), example)).toEqual([]);
    const made = await at('POST', path(), example);
    expect([made.status, made.body.code]).toEqual([201, undefined]);
    const read = await at('GET', `${path()}/${made.body.id}`);
    expect(read.text).toBe(made.text);
    expect(violations(schema('Row'), read.body)).toEqual([]);
    expect(Object.keys(read.body).sort()).toEqual(Object.keys(schema('Row').properties).sort());
    for (const [name, value] of Object.entries<Any>(example)) {
      const isTime = name.startsWith('timestamptz');
      const [sent, got] = isTime
        ? [new Date(value).getTime(), new Date(read.body[name]).getTime()]
        : [value, read.body[name]];
      expect([name, got]).toEqual([name, sent]);
    }
    const lines = await at('POST', path(), content['application/x-ndjson'].example, ndjson);
    expect([lines.status, lines.body.inserted]).toEqual([201, 1]);
    expect(violations(document.components.schemas.Batch, lines.body)).toEqual([]);
    const listed = await at('GET', path());
    const { example: page, schema: pageSchema } =
      document.paths[path()].get.responses[200].content['application/json'];
    expect(Object.keys(listed.body)).toEqual(Object.keys(page));
    const whole = { ...pageSchema.properties, data: { type: 'array', items: schema('Row') } };
    expect(violations({ ...pageSchema, properties: whole }, listed.body)).toEqual([]);
    expect(violations(schema('Row'), page.data[0])).toEqual([]);
  });

  test('describes rows of which some columns were selected, in a list and alone', async () => {
    const { example } = document.paths[path()].post.requestBody.content['application/json'];
    const { body } = await at('POST', path(), example);
    const answerOf = (call: string) =>
      document.paths[call].get.responses[200].content['application/json'].schema;
    const some = '?select=id,label:text_a';
    const one = await at('GET', `${path()}/${body.id}${some}`);
    expect(Object.keys(one.body)).toEqual(['id', 'label']);
    expect(violations(resolved(answerOf(`${path()}/{id}`)), one.body)).toEqual([]);
    const { properties, ...page } = answerOf(path());
    const items = resolved(properties.data.items);
    const listed = await at('GET', path() + some);
    expect(Object.keys(listed.body.data[0])).toEqual(['id', 'label']);
    const whole = { ...properties, data: { type: 'array', items } };
    expect(violations({ ...page, properties: whole }, listed.body)).toEqual([]);
  });

  test('names the required columns: a row without one is refused, other columns may be missing', async () => {
    const { required, properties } = schema('Insert');
    expect(required.sort()).toEqual(types.map((type) => `${type}_a`).sort());
    const { example } = document.paths[path()].post.requestBody.content['application/json'];
    const least = Object.fromEntries(required.map((name: string) => [name, example[name]]));
    expect((await at('POST', path(), least)).status).toBe(201);
    for (const name of required) {
      const { [name]: _, ...rest } = least;
      const refused = await at('POST', path(), rest);
      expect([name, refused.status, refused.body.errors[0].column]).toEqual([name, 400, name]);
    }
    for (const name of ['created_at', 'updated_at', 'nothing']) {
      expect(properties).not.toHaveProperty(name);
      expect((await at('POST', path(), { ...least, [name]: null })).status).toBe(400);
    }
    const { body } = await at('POST', path(), least);
    for (const [name, { default: value }] of Object.entries<Any>(properties)) {
      if (value === undefined) continue;
      const got = name.startsWith('timestamptz') ? new Date(body[name]).getTime() : body[name];
      expect([name, got]).toEqual([name, name.startsWith('timestamptz') ? Date.parse(value) : value]);
    }
  });

  test('has an example change that is accepted, and no read-only columns', async () => {
    const { example } = document.paths[path()].post.requestBody.content['application/json'];
    const made = await at('POST', path(), example);
    const one = `${path()}/${made.body.id}`;
    const change = document.paths[`${path()}/{id}`].patch.requestBody.content['application/json'].example;
    expect(Object.keys(change)).toHaveLength(1);
    expect((await at('PATCH', one, change)).status).toBe(200);
    for (const name of Object.keys(schema('Row').properties)) {
      const { status } = await at('PATCH', one, { [name]: made.body[name] });
      expect([name, status]).toEqual([name, name in schema('Update').properties ? 200 : 400]);
    }
  });

  test('has for every parameter of a list and a count an example, or none, that is taken; each column finds rows', async () => {
    const { example } = document.paths[path()].post.requestBody.content['application/json'];
    const { body } = await at('POST', path(), example);
    for (const [call, more] of [
      [path(), ''],
      [`${path()}/_count`, ''],
      [`${path()}/_aggregate`, '&select=n:count()'],
    ] as const) {
      const parameters: Any[] = document.paths[call].get.parameters.map(resolved);
      const names = parameters.map(({ name }) => name);
      for (const name of Object.keys(schema('Row').properties)) expect(names).toContain(name);
      for (const parameter of parameters.filter((it) => it.example !== undefined)) {
        const rest = parameter.name === 'select' ? '' : more;
        const answer = await at('GET', call + query(parameter.name, parameter.example) + rest);
        expect([parameter.name, answer.status]).toEqual([parameter.name, 200]);
      }
    }
    for (const name of Object.keys(example)) {
      const { example: condition } = resolved(
        document.paths[path()].get.parameters.map(resolved).find((it: Any) => it.name === name),
      );
      const found = await at('GET', `${path()}${query(name, condition)}&per_page=200&select=id`);
      expect([name, found.body.data.some(({ id }: Any) => id === body.id)]).toEqual([name, true]);
    }
  });

  test('names for each column the operators that it can be filtered by, and no other', async () => {
    const all = document.info.description.match(/^- `(\w+)\./gm).map((line: string) => line.slice(3, -1));
    expect(all.length).toBe(21);
    for (const parameter of Object.values<Any>(document.components.parameters)) {
      const named = /operators: ([\w, ]+)\./.exec(parameter.description)![1]!.split(', ');
      const [value] = parameter.example.map((each: string) => each.slice(each.indexOf('.') + 1));
      for (const op of all) {
        const operand = { is: 'null', in: '()', between: `("${value}","${value}")`, hk: 'a' }[op as string];
        const quoted = op === 'between' && String(value).includes('"') ? '({},{})' : operand;
        // Alone, `ov.` before a value of another type than a list is part of the value.
        const search =
          op === 'ov'
            ? query('or', `(${parameter.name}.ov.${JSON.stringify(String(value))})`)
            : query(parameter.name, `${op}.${quoted ?? value}`);
        const answer = await at('GET', path() + search);
        expect([parameter.name, op, answer.status]).toEqual([
          parameter.name,
          op,
          named.includes(op) ? 200 : 400,
        ]);
      }
    }
  });

  test('contains for a person with a grant only that table and their actions', async () => {
    const { member: owner, admin, outsider } = world.tenant;
    expect(owner.id).toBe(world.owner.id);
    const read = (person: typeof admin) => person.call('GET', documentPath());
    expect((await read(admin)).body.paths).toEqual({});
    expect((await read(outsider)).status).toBe(404);
    const grant = { principal_type: 'user', principal_id: admin.id, actions: ['read'] };
    expect((await table.shape('POST', '/grants', grant)).status).toBe(201);
    const theirs = (await read(admin)).body;
    expect(Object.values<Any>(theirs.paths).map((methods) => Object.keys(methods))).toEqual(
      Array(5).fill(['get']),
    );
    expect(Object.keys(theirs.components.schemas)).not.toContain(`${table.name}Insert`);
    // A reference to a table that they do not see does not name it.
    const child = await world.table(['title:text', `pet:ref:${table.name}`], { access: 'closed' });
    const reader = await newMember(world.tenant);
    await done(child.shape('POST', '/grants', { ...grant, principal_id: reader.id }));
    const { components } = (await read(reader)).body;
    expect(components.schemas[`${child.name}Row`].properties.pet.type).toBe('string');
    expect(JSON.stringify(components)).not.toContain(table.name);
    expect(JSON.stringify((await read(owner)).body)).toContain(`The id of a row of ${table.name}.`);
    const pat = await world.pat(owner);
    const refused = await caller(world.server, { 'x-api-key': pat })('GET', documentPath());
    expect([refused.status, refused.body.code]).toEqual([403, 'login_required']);
  });
});
