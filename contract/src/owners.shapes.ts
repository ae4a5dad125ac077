import { z } from 'zod';
import { appParams, Owner } from './apps.shapes.ts';
import { Group } from './groups.shapes.ts';
import { appRoles } from './owners.ts';
import { empty, page, pageQuery, ref, unchanged, uuid } from './shapes.ts';

const person = ref.meta({ description: 'A user id or an e-mail address.' });

export const AppMember = Owner.extend({
  user_id: uuid.nullable().meta({ description: 'Null for a group.' }),
  role: z.enum(appRoles),
  group: Group.pick({ id: true, name: true, member_count: true })
    .nullable()
    .meta({ description: 'Set where a group is invited: each of its members can see the app.' }),
});

export const transferOwnership = {
  params: appParams,
  body: z.strictObject({ to: person }),
  answer: z.object({
    app_id: uuid,
    owner: Owner,
    previous_owner: Owner.extend({
      role: z
        .enum(['co_owner', 'none'])
        .meta({ description: '`none`: the user is no longer a member of the tenant.' }),
    }),
  }),
};
export const listAppMembers = { params: appParams, query: pageQuery, answer: page(AppMember) };
export const addAppMember = {
  params: appParams,
  body: z
    .strictObject({ user_id: person, group_id: ref.meta({ description: 'A group id or name.' }) })
    .partial()
    .refine(({ user_id, group_id }) => (user_id === undefined) !== (group_id === undefined), {
      error: 'must have either user_id or group_id',
    }),
  answer: AppMember.extend({ changed: unchanged }),
};
export const removeAppMember = {
  params: appParams.extend({
    userID: ref.meta({ description: 'A user id or e-mail address; a group id or name.' }),
  }),
  answer: empty,
};
