import { readFileSync, statSync } from 'node:fs';
import { columns, type Item, idSql } from './dataset.ts';
import type { Server } from './start-server.ts';

/** The server's actual statement for a request, from PostgreSQL's log. */
export async function captureStatement(server: Server, request: () => Promise<unknown>): Promise<string> {
  await setStatementLogging(server, "'all'");
  try {
    const from = statSync(server.logPath).size;
    await request();
    await Bun.sleep(200);
    const text = readFileSync(server.logPath).subarray(from).toString('utf8');
    const own = `${server.rowsLogin.user}@${server.rowsLogin.database} LOG:  execute `;
    const found = text.split('\n').flatMap((line) => {
      const at = line.indexOf(own);
      // A new connection asks for extensions first.
      return at < 0 || !line.includes('"app_') ? [] : [line.slice(line.indexOf(': ', at + own.length) + 2)];
    });
    const [statement] = found;
    if (found.length !== 1 || !statement)
      throw new Error(`Expected one statement, not ${JSON.stringify(found)}.`);
    return statement;
  } finally {
    await setStatementLogging(server, 'default');
  }
}

async function setStatementLogging(server: Server, value: string): Promise<void> {
  await server.sql(`alter system set log_statement = ${value}`);
  await server.sql('select pg_reload_conf()');
  await Bun.sleep(300);
}

export interface Script {
  text: string;
  fixed: Record<string, string>;
}

export function pgbenchScript(
  statement: string,
  varying: Record<string, { set: string; sql: string }>,
  row: Item | null,
): Script {
  const lines = new Set<string>();
  const fixed: Record<string, string> = {};
  const values = row ? valuesByType(row) : {};
  const sql = statement.replace(/\$(\d+)::(\w+)/g, (_, number: string, type: string) => {
    const variable = varying[type];
    if (variable) {
      if (variable.set) lines.add(variable.set);
      return variable.sql;
    }
    const value = values[type]?.shift();
    if (value === undefined) throw new Error(`No value for $${number}::${type} in: ${statement}`);
    fixed[`p${number}`] = value;
    return `:p${number}::${type}`;
  });
  if (/\$\d/.test(sql)) throw new Error(`A parameter without a type in: ${statement}`);
  return { text: [...lines, `${sql};`, ''].join('\n'), fixed };
}

export const randomId = (rows: number) => ({ set: `\\set i random(1, ${rows})`, sql: idSql(':i::int4') });
export const fixedId = { set: '', sql: ':id::uuid' };
export const computedId = { set: '', sql: idSql(':i::int4') };

function valuesByType(row: Item): Record<string, string[]> {
  const sqlTypes: Record<string, string> = { int: 'int4', bigint: 'int8', float: 'float8' };
  const values: Record<string, string[]> = {};
  for (const spec of columns) {
    const [name, type = ''] = spec.split(':');
    const value = row[name as keyof Item];
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
    const sqlType = sqlTypes[type] ?? type;
    values[sqlType] = [...(values[sqlType] ?? []), text];
  }
  values.int8?.push(`${Date.now()}000`);
  return values;
}
