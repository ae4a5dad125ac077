import { type ClientBase, escapeIdentifier as ident } from 'pg';
import { closedFunctionsSql, grantsSql, policiesSql } from './rights-sql.ts';
import {
  commentsSql,
  constraintsSql,
  foreignKeysSql,
  functionsSql,
  indexesSql,
  leftOutSql,
  ownedSequencesSql,
  rowSecuritySql,
  sequencesSql,
  statisticsSql,
  tablesSql,
  triggersSql,
} from './schema-sql.ts';

/** A schema without its rows, as the statements that make it. */
export interface SchemaDump {
  name: string;
  beforeRows: string[];
  afterRows: string[];
  /** After those of all schemas, since they may refer to one another. */
  last: string[];
  /** Statements around the name of the role that serves rows. */
  forRowsRole: { before: string; after: string }[];
}

export async function dumpSchema(
  client: ClientBase,
  { schema, rowsRole }: { schema: string; rowsRole: string },
): Promise<{ dump: SchemaDump; leftOut: string[] }> {
  const statements = async (...queries: readonly string[]) => {
    const found: string[] = [];
    for (const query of queries) {
      found.push(...(await client.query<{ sql: string }>(query, [schema])).rows.map((row) => row.sql));
    }
    return found;
  };
  const rights = [
    ...(await client.query<Right>(grantsSql, [schema, rowsRole])).rows,
    ...(await client.query<Right>(policiesSql, [schema, rowsRole])).rows,
  ];
  const objects = await client.query<{ what: string }>(leftOutSql, [schema]);
  const dump: SchemaDump = {
    name: schema,
    beforeRows: [
      `create schema ${ident(schema)}`,
      ...(await statements(functionsSql, sequencesSql, tablesSql)),
    ],
    afterRows: await statements(
      ownedSequencesSql,
      constraintsSql,
      indexesSql,
      statisticsSql,
      commentsSql,
      closedFunctionsSql,
    ),
    last: [
      ...(await statements(foreignKeysSql, triggersSql, rowSecuritySql)),
      ...rights
        .filter((right) => right.who === 'public')
        .map((right) => `${right.before}public${right.after}`),
    ],
    forRowsRole: rights
      .filter((right) => right.who === 'rows')
      .map(({ before, after }) => ({ before, after })),
  };
  const otherRoles = rights.filter((right) => right.who.startsWith('role '));
  return {
    dump,
    leftOut: [
      ...objects.rows.map((row) => row.what),
      ...new Set(otherRoles.map((right) => `rights of ${right.who} on ${right.what}`)),
    ],
  };
}

interface Right {
  before: string;
  after: string;
  who: string;
  what: string;
}
