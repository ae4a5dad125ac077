import { z } from 'zod';
import { appParams, Owner } from './apps.shapes.ts';
import { appRoles } from './owners.ts';
import { empty, page, pageQuery, ref, unchanged, uuid } from './shapes.ts';

const person = ref.meta({ description: 'A user id or an e-mail address.' });

export const AppMember = Owner.extend({ role: z.enum(appRoles) });

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
  body: z.strictObject({ user_id: person }),
  answer: AppMember.extend({ changed: unchanged }),
};
export const removeAppMember = { params: appParams.extend({ userID: ref }), answer: empty };
