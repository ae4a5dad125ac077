import { z } from 'zod';
import { patLifeDaysMax, patNameCharsMax, tenantRoles, userStatuses } from './identity.ts';
import { patActions } from './pat-actions.ts';
import {
  displayName,
  empty,
  page,
  pageQuery,
  ref,
  tenantParams,
  timestamp,
  unchanged,
  uuid,
} from './shapes.ts';

export const User = z.object({
  id: uuid,
  email: z.string(),
  name: z.string(),
  status: z.enum(userStatuses),
});

export const Me = User.extend({
  credential: z.object({
    kind: z.enum(['login', 'session']),
    expires_at: timestamp,
  }),
  tenants: z.array(z.object({ id: uuid, slug: z.string(), name: z.string(), role: z.enum(tenantRoles) })),
});

export const getMe = { answer: Me };

export const Session = z.object({
  id: uuid,
  kind: z.enum(['browser', 'cli', 'app']),
  client: z.string(),
  address: z.string().meta({ description: 'Of the newest sign-in or renewal; empty if unknown.' }),
  device: z.string().meta({ description: 'As the client describes itself, such as `Firefox on Linux`.' }),
  created_at: timestamp,
  expires_at: timestamp,
  current: z.boolean(),
});

export const listSessions = { query: pageQuery, answer: page(Session) };
export const revokeSession = { params: z.object({ sessionID: uuid }), answer: empty };

export const SignIn = z.object({
  at: timestamp,
  event: z.enum([
    'signed_in',
    'sign_in_failed',
    'device_approved',
    'token_created',
    'token_issued',
    'password_changed',
    'factor_added',
    'factor_removed',
    'factors_reset',
    'recovery_codes_replaced',
  ]),
  method: z.string().meta({ description: 'Such as `password`; empty where it does not apply.' }),
  address: z.string(),
  device: z.string().meta({ description: 'As the client describes itself, such as `Firefox on Linux`.' }),
  name: z.string().meta({ description: 'Name of the token.' }),
});

export const listSignIns = { query: pageQuery, answer: page(SignIn) };

/** The server checks the rules, and reports which one a password breaks. */
const password = z.string().min(1).max(1024);

export const changePassword = {
  body: z.strictObject({ current_password: password, new_password: password }),
  answer: z.object({ changed_at: timestamp }),
};

export const Pat = z.object({
  id: uuid,
  tenant_id: uuid,
  user_id: uuid,
  name: z.string(),
  hint: z.string().meta({ description: 'The last four characters, to tell tokens apart.' }),
  actions: z.array(z.enum(patActions)),
  allows: z.array(z.string()).meta({ description: 'What the token can do, one sentence for each action.' }),
  apps: z
    .array(z.string())
    .meta({ description: 'App ids it is limited to; empty = every app of its issuer.' }),
  status: z.enum(['active', 'expired', 'revoked']),
  created_at: timestamp,
  expires_at: timestamp,
  revoked_at: z.string(),
  last_used_at: z.string(),
});

export const listPats = {
  params: tenantParams,
  query: pageQuery.extend({
    all: z
      .enum(['true', 'false'])
      .default('false')
      .meta({ description: "Include everyone's tokens; admins only." }),
  }),
  answer: page(Pat),
};

export const createPat = {
  params: tenantParams,
  body: z.strictObject({
    name: displayName(1, patNameCharsMax),
    actions: z
      .array(z.enum(patActions))
      .min(1)
      .transform((list) => patActions.filter((action) => list.includes(action)))
      .default(['read']),
    apps: z.array(ref).max(100).default([]),
    expires_in_days: z.int().min(1).max(patLifeDaysMax).optional(),
  }),
  answer: Pat.extend({ secret: z.string().meta({ description: 'Shown once.' }) }),
};

export const revokePat = {
  params: tenantParams.extend({ patID: uuid }),
  answer: Pat.extend({ changed: unchanged }),
};
