import { read, who } from './endpoint.ts';
import type * as shapes from './people.shapes.ts';

/** A data scope of an app whose people may see e-mail addresses as well as names. */
export const emailScope = 'people:email';

/** Served by the row path, like rows. */
export const listPeople = read<typeof shapes.listPeople>()({
  id: 'people.list',
  path: '/data/{tenant}/{app}/_people',
  summary: 'Get the names of people who occur in rows that the caller may read',
  authority: { credential: 'login_or_pat', role: 'tenant_member', outsider: 'not_found' },
  who: who('O:y C:y A:g M:g P:y N:n X:n'),
  errors: ['forbidden', 'uri_too_long'],
});
