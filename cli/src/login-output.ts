import type { JsonSchema } from './command.ts';

const text = { type: 'string' } as const;

const user: JsonSchema = {
  type: 'object',
  properties: { id: text, email: text, name: text, status: text },
  required: ['id', 'email', 'name', 'status'],
};

const tenant: JsonSchema = {
  anyOf: [
    { type: 'object', properties: { id: text, slug: text, name: text }, required: ['id', 'slug', 'name'] },
    { type: 'null' },
  ],
};

/** What `svc whoami --json` prints. */
export const whoamiOutput: JsonSchema = {
  type: 'object',
  properties: {
    user,
    tenant,
    role: text,
    base_url: text,
    profile: text,
    credential: {
      type: 'object',
      properties: { kind: text, expires_at: text },
      required: ['kind', 'expires_at'],
    },
    tenants: {
      type: 'array',
      items: {
        type: 'object',
        properties: { id: text, slug: text, name: text, role: text },
        required: ['id', 'slug', 'name', 'role'],
      },
    },
  },
  required: ['user', 'tenant', 'role', 'base_url', 'profile', 'credential', 'tenants'],
};

/** What `svc login --json` prints. */
export const loginOutput: JsonSchema = {
  type: 'object',
  properties: { user, tenant, base_url: text, profile: text },
  required: ['user', 'tenant', 'base_url', 'profile'],
};
