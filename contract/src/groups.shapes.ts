import { z } from 'zod';
import { groupDescriptionCharsMax, groupNameCharsMax, groupSources } from './groups.ts';
import { memberStatuses } from './identity.ts';
import {
  chars,
  displayName,
  empty,
  page,
  pageQuery,
  ref,
  slug,
  someOf,
  tenantParams,
  text,
  timestamp,
  unchanged,
  uuid,
} from './shapes.ts';

export const Group = z.object({
  id: uuid,
  tenant_id: uuid,
  name: z.string(),
  display_name: z.string(),
  description: z.string(),
  source: z.enum(groupSources).meta({
    description: 'Only `local` groups are edited by hand; `claim` and `scim` follow the identity provider.',
  }),
  external_id: z
    .string()
    .meta({ description: "The value of the claim, or the directory's id; empty for local groups." }),
  member_count: z.int(),
  created_at: timestamp,
  updated_at: timestamp,
});

export const GroupMember = z.object({
  user_id: uuid,
  email: z.string(),
  name: z.string(),
  status: z.enum(memberStatuses),
  since: timestamp,
});

const settings = {
  name: slug.meta({ description: 'A short name for commands.' }),
  display_name: displayName(1, groupNameCharsMax),
  description: chars(0, groupDescriptionCharsMax).meta({ description: 'Empty for none.' }),
};

const groupParams = tenantParams.extend({ group: ref });
const person = ref.meta({ description: 'A user id or an e-mail address.' });
const search = text.min(1).max(200).optional();

export const listGroups = {
  params: tenantParams,
  query: pageQuery.extend({ q: search.meta({ description: 'Part of a name.' }) }),
  answer: page(Group),
};
export const createGroup = {
  params: tenantParams,
  body: z.strictObject({
    name: settings.name,
    display_name: settings.display_name.optional().meta({ description: 'The name when absent.' }),
    description: settings.description.default(''),
  }),
  answer: Group,
};
export const getGroup = { params: groupParams, answer: Group };
export const updateGroup = {
  params: groupParams,
  body: someOf(settings),
  answer: Group.extend({ changed: unchanged }),
};
export const deleteGroup = { params: groupParams, answer: empty };
export const listGroupMembers = {
  params: groupParams,
  query: pageQuery.extend({ q: search.meta({ description: 'Part of a name or e-mail address.' }) }),
  answer: page(GroupMember),
};
export const addGroupMember = {
  params: groupParams,
  body: z.strictObject({ user_id: person }),
  answer: GroupMember.extend({ changed: unchanged }),
};
export const removeGroupMember = { params: groupParams.extend({ userID: ref }), answer: empty };
