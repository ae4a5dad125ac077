import { expect, test } from 'bun:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { contract, rowContract } from './all.ts';
import { openApiDocument } from './openapi.ts';

const everything = [...contract, ...rowContract];
const document = openApiDocument({ baseUrl: 'http://localhost:4400', version: '1.0.0' });

test('a validator accepts the OpenAPI 3.1 document', async () => {
  const result = await new Validator().validate(JSON.parse(JSON.stringify(document)));
  expect(result.errors).toBeUndefined();
  expect(result.valid).toBe(true);
});

test('every endpoint of the contract is in it, under its own id', () => {
  const paths = document.paths as Record<string, Record<string, { operationId: string }>>;
  for (const { endpoint } of everything) {
    expect(paths[endpoint.path]?.[endpoint.method.toLowerCase()]?.operationId).toBe(endpoint.id);
  }
  expect(new Set(everything.map(({ endpoint }) => endpoint.id)).size).toBe(everything.length);
});

test('path parameters of an endpoint are those of its shape', () => {
  for (const { endpoint, shape } of everything) {
    const inPath = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
    const operation = (
      document.paths as Record<string, Record<string, { parameters: { name: string; in: string }[] }>>
    )[endpoint.path]?.[endpoint.method.toLowerCase()];
    const named = operation?.parameters
      .filter((parameter) => parameter.in === 'path')
      .map(({ name }) => name);
    expect({ id: endpoint.id, named: named?.sort() }).toEqual({ id: endpoint.id, named: inPath.sort() });
    expect(shape.answer).toBeDefined();
  }
});

test('the operations on rows say which headers, bodies and answers there are', () => {
  const described = rowContract.map(({ endpoint }) => {
    const operation = (
      document.paths as Record<
        string,
        Record<
          string,
          {
            parameters: { name: string; in: string }[];
            requestBody?: { content: object };
            responses: Record<string, { content?: object }>;
            security: object[];
          }
        >
      >
    )[endpoint.path]?.[endpoint.method.toLowerCase()];
    const successes = Object.entries(operation?.responses ?? {}).filter(([status]) => Number(status) < 400);
    return {
      id: endpoint.id,
      headers: operation?.parameters.filter((it) => it.in === 'header').map(({ name }) => name),
      body: Object.keys(operation?.requestBody?.content ?? {}),
      answers: successes.map(([status, { content }]) => [status, ...Object.keys(content ?? {})]),
      pat: operation?.security.some((scheme) => 'pat' in scheme),
    };
  });
  const [json, ndjson] = ['application/json', 'application/x-ndjson'];
  expect(described).toEqual([
    { id: 'rows.count', headers: [], body: [], answers: [['200', json]], pat: true },
    {
      id: 'rows.delete',
      headers: ['If-Plan', 'If-Match'],
      body: [],
      answers: [['200', json], ['204']],
      pat: true,
    },
    { id: 'rows.get', headers: ['If-None-Match'], body: [], answers: [['200', json], ['304']], pat: true },
    {
      id: 'rows.insert',
      headers: ['If-Plan', 'Prefer', 'Idempotency-Key'],
      body: [json, ndjson, 'application/jsonl'],
      answers: [
        ['200', json],
        ['201', json],
      ],
      pat: true,
    },
    { id: 'rows.list', headers: [], body: [], answers: [['200', json, ndjson]], pat: true },
    {
      id: 'rows.update',
      headers: ['If-Plan', 'If-Match', 'Prefer'],
      body: [json],
      answers: [['200', json], ['204']],
      pat: true,
    },
  ]);
});
