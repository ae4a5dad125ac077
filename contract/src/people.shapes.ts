import { z } from 'zod';
import { peopleIdsMax } from './rows.ts';
import { ref, text, uuid } from './shapes.ts';

export const NamedPerson = z.object({
  id: uuid,
  name: z.string(),
  email: z.string().nullable().meta({
    description:
      'Null unless the data scope `people:email` of the app is approved, the caller owns the app, or it is their own.',
  }),
});

export const listPeople = {
  params: z.object({ tenant: ref, app: ref }),
  query: z.strictObject({
    ids: text.meta({
      description:
        `At most ${peopleIdsMax} user ids, \`a,b\`. An id is found in an owner column, or in a column that a rule of the ` +
        'table compares with `@me.id`, of a row that the caller may read; others are left out.',
    }),
  }),
  answer: z.object({ data: z.array(NamedPerson) }),
};
