import type { ContractEntry } from './all.ts';
import {
  dryRunParameter,
  errorCodesOf,
  header,
  idempotencyKeyParameter,
  ifMatchParameter,
  ifPlanParameter,
  type Json,
  jsonContent,
  parametersIn,
  previewRef,
  problemResponses,
  requestIdHeader,
  schemaOf,
} from './openapi-parts.ts';
import {
  batchLinesMax,
  batchRequestsPerMinuteMax,
  changesRetentionHours,
  csvMediaType,
  eventStreamMediaType,
  type FilterOp,
  jsonLinesMediaType,
} from './rows.ts';
import { Batch, batchRows, restoreRows } from './rows-endpoints.shapes.ts';

export interface RowTerms {
  params: readonly Json[];
  row: Json | null;
  selected: Json | null;
  insert: Json;
  update: Json;
  columns: readonly Json[];
  examples?: RowExamples;
}

export interface RowExamples {
  row: Json;
  insert: Json;
  update: Json;
  query: Readonly<Record<string, unknown>>;
}

export function rowOperation(entry: ContractEntry, terms: RowTerms): Json {
  const { endpoint } = entry;
  const describe = operations[endpoint.id];
  if (!describe) throw new Error(`${endpoint.id} is no operation on rows.`);
  const { headers = [], body, answers } = describe(terms, entry);
  const { query, problems } = commonOf(entry);
  const examples = endpoint.id === 'rows.aggregate' ? groupExamples(terms) : terms.examples?.query;
  const named = query.map((parameter) => {
    const name = String(parameter.name);
    const example = examples?.[name];
    // A column keeps its meaning where its name is also that of a parameter.
    const isColumn = Object.hasOwn(terms.examples?.row ?? {}, name);
    return {
      ...parameter,
      ...(isColumn && { name: `_${name}` }),
      ...(example !== undefined && { example }),
    };
  });
  const filters = filtered.includes(endpoint.id) ? terms.columns : [];
  const changing = endpoint.kind === 'mutate' ? [dryRunParameter, ifPlanParameter] : [];
  return {
    parameters: [...terms.params, ...named, ...filters, ...changing, ...headers],
    ...(body ? { requestBody: { required: true, content: body } } : {}),
    responses: { ...answers, ...problems },
  };
}

function groupExamples({ examples }: RowTerms): RowExamples['query'] | undefined {
  const { filter, or } = examples?.query ?? {};
  return examples && { select: 'n:count()', sort: '-n', having: ['n.gt.0'], filter, or };
}

const filtered: readonly string[] = [
  'rows.list',
  'rows.count',
  'rows.aggregate',
  'rows.changes',
  'rows.updateMany',
  'rows.deleteMany',
];

interface Common {
  query: readonly Json[];
  problems: Record<string, Json>;
  answer: Json;
}

/** Computed once for all tables: an app may have hundreds. */
function commonOf(entry: ContractEntry): Common {
  let common = commons.get(entry);
  if (!common) {
    const { endpoint, shape } = entry;
    common = {
      query: parametersIn('query', shape.query),
      problems: problemResponses(errorCodesOf(endpoint, shape)),
      answer: schemaOf(shape.answer, 'output'),
    };
    commons.set(entry, common);
  }
  return common;
}

const commons = new WeakMap<ContractEntry, Common>();

interface Described {
  headers?: readonly Json[];
  body?: Json;
  answers: Record<string, Json>;
}

const operations: Readonly<Record<string, (terms: RowTerms, entry: ContractEntry) => Described>> = {
  'rows.list': (terms, entry) => {
    const page = commonOf(entry).answer as { properties: Json };
    const schema = {
      ...page,
      properties: { ...page.properties, data: { type: 'array', items: terms.selected ?? {} } },
    };
    return {
      answers: {
        200: answer(
          'The rows.',
          {
            ...jsonContent(schema, terms.examples && pageOf(terms.examples.row)),
            [jsonLinesMediaType]: {
              schema: { type: 'string', description: 'Every row as one line of JSON; no pages.' },
              example: terms.examples && line(terms.examples.row),
            },
            [csvMediaType]: { schema: { type: 'string', description: csvDescription } },
          },
          noteHeaderOf,
        ),
      },
    };
  },
  'rows.aggregate': (_, entry) => ({
    answers: {
      200: answer(
        'The groups.',
        {
          ...jsonContent(commonOf(entry).answer),
          [csvMediaType]: { schema: { type: 'string', description: 'The page, with a line of names.' } },
        },
        noteHeaderOf,
      ),
    },
  }),
  'rows.count': (_, entry) => ({
    answers: { 200: answer('The number.', jsonContent(commonOf(entry).answer), noteHeaderOf) },
  }),
  'rows.access': (_, entry) => ({
    answers: { 200: answer('Your access.', jsonContent(commonOf(entry).answer)) },
  }),
  'rows.changes': (terms) => ({
    headers: [lastEventId],
    answers: {
      200: answer('The events, until the connection is closed or the access changes.', {
        [eventStreamMediaType]: {
          schema: { type: 'string', description: eventsDescription },
          example: terms.examples && `event: insert\nid: 4mRk2Q\ndata: ${line(terms.examples.row)}\n`,
        },
      }),
    },
  }),
  'rows.history': (_, entry) => ({ answers: { 200: entriesAnswer('The changes.', entry) } }),
  'rows.trash': (_, entry) => ({ answers: { 200: entriesAnswer('The rows.', entry) } }),
  'rows.restore': (_, entry) => ({
    headers: [idempotencyKeyParameter],
    answers: { 200: restoredAnswer(entry) },
  }),
  'rows.restoreMany': (_, entry) => ({
    headers: [idempotencyKeyParameter],
    body: jsonContent(schemaOf(restoreRows.body, 'input')),
    answers: { 200: restoredAnswer(entry) },
  }),
  'rows.get': (terms) => ({
    headers: [ifNoneMatch],
    answers: {
      200: answer('The row.', jsonContent(terms.selected ?? {}, terms.examples?.row), etag),
      304: answer('Not modified.', undefined, etag),
    },
  }),
  'rows.insert': ({ row, insert, examples }) => ({
    headers: [preferResolution, idempotencyKeyParameter],
    body: {
      ...jsonContent(insert, examples?.insert),
      ...Object.fromEntries(
        [jsonLinesMediaType, 'application/jsonl'].map((type) => [
          type,
          { schema: manyLines, example: examples && line(examples.insert) },
        ]),
      ),
    },
    answers: {
      200: answer(
        row ? 'Of one row that was there: the row; with dry_run the plan.' : 'With dry_run: the plan.',
        jsonContent(row ? { anyOf: [row, previewRef] } : previewRef),
        row ? { ...etag, ...location } : {},
      ),
      201: answer(
        row
          ? 'The row, or no body with `Prefer: return=minimal`; of many rows how many there were, and their ids.'
          : 'Of one row no body, since it may not be read; of many how many there were, and their ids.',
        jsonContent(row ? { anyOf: [row, batchRef] } : batchRef, row ? examples?.row : undefined),
        { ...etag, ...location },
      ),
      204: answer(
        row
          ? 'Of one row that was there: done, with `Prefer: return=minimal`.'
          : 'Of one row that was there: done.',
        undefined,
        row ? { ...etag, ...location } : {},
      ),
    },
  }),
  'rows.update': (terms) => ({
    headers: [ifMatchParameter, prefer],
    body: jsonContent(terms.update, terms.examples?.update),
    answers: {
      200: answer(
        terms.row ? 'The row, or with dry_run the plan.' : 'With dry_run: the plan.',
        jsonContent(terms.row ? { anyOf: [terms.row, previewRef] } : previewRef),
        etag,
      ),
      204: answer(
        terms.row ? 'Done, with `Prefer: return=minimal`.' : 'Done; the row may not be read.',
        undefined,
        etag,
      ),
    },
  }),
  'rows.delete': () => ({
    headers: [ifMatchParameter],
    answers: {
      200: answer('With dry_run: the plan.', jsonContent(previewRef)),
      204: answer('Done.'),
    },
  }),
  'rows.updateMany': (terms, entry) => ({
    headers: [preferMany, idempotencyKeyParameter],
    body: jsonContent(terms.update, terms.examples?.update),
    answers: manyAnswers(terms, entry),
  }),
  'rows.deleteMany': (terms, entry) => ({
    headers: [preferMany, idempotencyKeyParameter],
    answers: manyAnswers(terms, entry),
  }),
  'rows.batch': (_, entry) => ({
    headers: [prefer, idempotencyKeyParameter],
    body: jsonContent(schemaOf(batchRows.body, 'input')),
    answers: {
      200: answer(
        'The result of each operation, in their order; with dry_run the plan.',
        jsonContent({ anyOf: [commonOf(entry).answer, previewRef] }),
      ),
    },
  }),
};

const restoredAnswer = (entry: ContractEntry) =>
  answer(
    'How many rows, and their ids; with dry_run the plan.',
    jsonContent({ anyOf: [commonOf(entry).answer, previewRef] }),
  );

const entriesAnswer = (description: string, entry: ContractEntry) =>
  answer(description, jsonContent(commonOf(entry).answer));

function manyAnswers(terms: RowTerms, entry: ContractEntry): Described['answers'] {
  const changed = commonOf(entry).answer as { properties: Json };
  const schema = {
    ...changed,
    properties: { ...changed.properties, data: { type: 'array', items: terms.row ?? {} } },
  };
  return {
    200: answer(
      'How many rows, and their ids; with dry_run the plan.',
      jsonContent({ anyOf: [schema, previewRef] }),
      noteHeaderOf,
    ),
    204: answer('Done, with `Prefer: return=minimal`.', undefined, noteHeaderOf),
  };
}

export const operatorForms: Readonly<Record<FilterOp, string>> = {
  eq: '`eq.v` equal',
  neq: '`neq.v` not equal',
  gt: '`gt.v` greater',
  gte: '`gte.v` greater or equal',
  lt: '`lt.v` less',
  lte: '`lte.v` less or equal',
  in: '`in.(v,w,"x,y")` one of',
  is: '`is.null`, `is.not_null`',
  like: '`like.v` with `%` or `*` for any run and `_` for one character',
  ilike: '`ilike.v` the same, whatever the case',
  sw: '`sw.v` starts with',
  ew: '`ew.v` ends with',
  has: '`has.v` contains',
  isw: '`isw.v` starts with, whatever the case',
  iew: '`iew.v` ends with, whatever the case',
  ihas: '`ihas.v` contains, whatever the case',
  between: '`between.(v,w)` from v to w',
  cs: '`cs.{"a":1}` contains; of a list `cs.(v,w)` has all of',
  cd: '`cd.{"a":1}` is contained in',
  hk: '`hk.a` has the key',
  ov: '`ov.(v,w)` of a list: has one of',
};

const anyObject = { type: 'object', additionalProperties: true };

export const anyRow: Omit<RowTerms, 'params'> = {
  row: anyObject,
  selected: anyObject,
  insert: anyObject,
  update: anyObject,
  columns: [
    {
      name: 'column',
      in: 'query',
      required: false,
      style: 'form',
      explode: true,
      schema: { type: 'object', additionalProperties: { type: 'string' } },
      description:
        'Every column is a parameter of its own name, and may stand several times; all conditions must hold. ' +
        '`age=3` compares, `age=op.value` does so by an operator, `not.` before it negates. A value that does not ' +
        'begin with an operator and a dot is meant literally. What `v` is fits the type of the column: ' +
        `${Object.values(operatorForms).join('; ')}.`,
    },
  ],
};

export const batchSchema = schemaOf(Batch, 'output');
const batchRef = { $ref: '#/components/schemas/Batch' };

const manyLines = {
  type: 'string',
  description:
    `One row as JSON per line, at most ${batchLinesMax} lines; all are stored or none is. ` +
    `An app may send ${batchRequestsPerMinuteMax} such requests a minute.`,
};

const csvDescription =
  'With a line of names. With `page`, `per_page` or `cursor` that page, whose `Link` header leads to the next; otherwise every row.';

const noteHeaderOf = {
  'Svc-Note': {
    schema: { type: 'string' },
    description: 'What may be a mistake in the query, such as a misspelt operator.',
  },
};

const etag = { ETag: { schema: { type: 'string' }, description: 'The version of the row.' } };

const location = { Location: { schema: { type: 'string' }, description: 'URL of the inserted row.' } };

const ifNoneMatch = header('If-None-Match', 'An earlier `ETag`; returns 304 while the row is unchanged.');

const lastEventId = header(
  'Last-Event-ID',
  `The id of the last event that was received: continues after it for ${changesRetentionHours} hours, otherwise the stream begins with \`reset\`.`,
);

const eventsDescription =
  '`row` for each row that exists, if `snapshot` is true; `ready`; then `insert`, `update` (data: the row) and `delete` (data: its id). ' +
  '`reset`: what was received before is no longer valid.';

const prefer = header('Prefer', '`return=minimal` returns no row.');

const preferMany = header(
  'Prefer',
  '`return=representation` returns the rows too, `return=minimal` nothing.',
);

const preferResolution = header(
  'Prefer',
  '`return=minimal` answers without the row. `resolution=merge-duplicates` changes rows that are there, ' +
    '`resolution=ignore-duplicates` leaves them as they are.',
);

function answer(description: string, content?: Json, headers: Json = {}): Json {
  return { description, headers: { ...requestIdHeader, ...headers }, content };
}

function pageOf(row: Json): Json {
  return { data: [row], page: 1, per_page: 50, has_more: false, next_cursor: null };
}

const line = (row: Json) => `${JSON.stringify(row)}\n`;
