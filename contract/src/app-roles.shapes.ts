import { z } from 'zod';
import { appParams } from './apps.shapes.ts';
import { empty, page, pageQuery, ref, timestamp, unchanged, uuid } from './shapes.ts';
import { roleNamePattern } from './table-rules.ts';

const person = ref.meta({ description: 'A user id or an e-mail address.' });
export const roleName = z
  .string()
  .regex(roleNamePattern, 'must be 1 to 63 of a-z, 0-9, _ and -, and begin with a letter');

export const AppRole = z.object({
  role: z.string(),
  user_id: uuid,
  email: z.string(),
  name: z.string(),
  created_by: z.string(),
  created_at: timestamp,
});

export const listAppRoles = { params: appParams, query: pageQuery, answer: page(AppRole) };
export const setAppRole = {
  params: appParams,
  body: z.strictObject({ role: roleName, user: person }),
  answer: AppRole.extend({ changed: unchanged }),
};
export const removeAppRole = {
  params: appParams.extend({ role: ref, userID: person }),
  answer: empty,
};
