import { expect, test } from 'bun:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { contract } from './all.ts';
import { openApiDocument } from './openapi.ts';

const document = openApiDocument({ baseUrl: 'http://localhost:4400', version: '1.0.0' });

test('a validator accepts the OpenAPI 3.1 document', async () => {
  const result = await new Validator().validate(JSON.parse(JSON.stringify(document)));
  expect(result.errors).toBeUndefined();
  expect(result.valid).toBe(true);
});

test('every endpoint of the contract is in it, under its own id', () => {
  const paths = document.paths as Record<string, Record<string, { operationId: string }>>;
  for (const { endpoint } of contract) {
    expect(paths[endpoint.path]?.[endpoint.method.toLowerCase()]?.operationId).toBe(endpoint.id);
  }
  expect(new Set(contract.map(({ endpoint }) => endpoint.id)).size).toBe(contract.length);
});

test('path parameters of an endpoint are those of its shape', () => {
  for (const { endpoint, shape } of contract) {
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
