import type { RunningServer } from './server.ts';

export type Letter = 'O' | 'C' | 'A' | 'M' | 'P' | 'N' | 'X';
export const letters: readonly Letter[] = ['O', 'C', 'A', 'M', 'P', 'N', 'X'];

/** The parts of an OpenAPI operation that the tests use. */
export interface Operation {
  id: string;
  method: string;
  path: string;
  who: Record<Letter, 'y' | 'n' | 'own' | 'self' | 'v' | 'g' | 'd'>;
  mutates: boolean;
  success: number;
  statuses: readonly number[];
}

export interface ApiDocument {
  operations: readonly Operation[];
  codes: ReadonlySet<string>;
}

interface Parameter {
  name?: string;
  $ref?: string;
}

/** The document of the server, without operations that have no row in the authorization table. */
export async function readDocument(server: RunningServer): Promise<ApiDocument> {
  const document = (await (await fetch(`${server.baseUrl}/api/v1/openapi.json`)).json()) as {
    // biome-ignore lint/suspicious/noExplicitAny: the document is nested JSON.
    paths: Record<string, Record<string, any>>;
    components: { schemas: { Problem: { properties: { code: { enum: string[] } } } } };
  };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation['x-authorization'])
      .map(([method, operation]): Operation => {
        const statuses = Object.keys(operation.responses).map(Number);
        // These return 204 only with `Prefer: return=minimal`.
        const hasBody = method === 'patch' || operation.operationId === 'rows.deleteMany';
        return {
          id: operation.operationId,
          method: method.toUpperCase(),
          path,
          who: operation['x-authorization'],
          mutates: operation.parameters.some(
            (it: Parameter) => it.name === 'dry_run' || it.$ref?.endsWith('/dry_run.query') === true,
          ),
          success: [201, 204].find((status) => !hasBody && statuses.includes(status)) ?? 200,
          statuses,
        };
      }),
  );
  return { operations, codes: new Set(document.components.schemas.Problem.properties.code.enum) };
}

export function tenantParameterOf({ path }: Pick<Operation, 'path'>): string | undefined {
  return /\{(tenantID|tenant)\}/.exec(path)?.[1];
}

export const isOfRows = ({ path }: Pick<Operation, 'path'>) => path.startsWith('/data/');

/** Parameters whose names begin with `?` go into the query string. */
export function addressOf(
  operation: Operation,
  params: Record<string, string> = {},
  more: Record<string, string> = {},
): string {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined) throw new Error(`${operation.id} is called without ${name}.`);
    return encodeURIComponent(value);
  });
  const asked = Object.entries(params).filter(([name]) => name.startsWith('?'));
  const query = new URLSearchParams({
    ...Object.fromEntries(asked.map(([name, value]) => [name.slice(1), value])),
    ...more,
  });
  return query.size === 0 ? path : `${path}?${query}`;
}
