import { expect, test } from 'bun:test';
import type { Db } from '../../core/db.ts';
import type { ConnectorDecision } from '../connectors/access.ts';
import { connectorReason } from './reasons.ts';

const list = 'Check the name: svc connectors tables warehouse lists the tables.';

test.each([
  ['tables', list],
  ['postgres', `${list} If the table is new, refresh the list with: svc connectors schema refresh warehouse`],
])('of a table that a connector of kind %s does not have', async (kind, next) => {
  const decision = { connector: { slug: 'warehouse', kind }, path: 'shop/nothing' } as ConnectorDecision;
  const person = { isSelf: false, email: 'ada@example.com', userId: '' };
  const known = { tableExists: false, knowsTables: true };
  expect(await connectorReason({} as Db, '', decision, person, known)).toEqual({
    reason: 'The connector warehouse has no table shop/nothing.',
    next,
  });
});
