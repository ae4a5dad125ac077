import { expect } from 'bun:test';
import type { Send, TestTable } from './rows.ts';

/** Issues a grant on a table; its id. */
export async function grant(table: TestTable, type: string, id: string, actions: string[]): Promise<string> {
  const body = { principal_type: type, principal_id: id, actions };
  const issued = await table.shape('POST', '/grants', body);
  expect(issued.status).toBe(201);
  return issued.body.id;
}

/** All but the request id. */
export const told = ({ status, body, headers }: Awaited<ReturnType<Send>>) => ({
  status,
  body: typeof body === 'string' ? body : { ...body, request_id: '' },
  headers: [...headers].filter(([name]) => !['x-request-id', 'date'].includes(name)),
});
