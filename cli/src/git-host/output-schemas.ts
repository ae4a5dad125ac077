import { startBootstrap } from '@svc/contract/bootstrap.shapes.ts';
import { beginGitConnection, connectGit } from '@svc/contract/git-connections.shapes.ts';
import { GitAccount } from '@svc/contract/git-host.shapes.ts';
import { z } from 'zod';
import type { JsonSchema } from '../command.ts';

const options = { io: 'input', unrepresentable: 'any' } as const;

/** With exit 11. */
const Pending = z.object({
  status: z.literal('pending'),
  device_code: z
    .string()
    .optional()
    .meta({ description: 'Where it has just been issued: a secret, for --device-code.' }),
  user_code: z.string().nullable(),
  verification_uri: z.string().nullable(),
  expires_at: z.string().nullable(),
  interval_seconds: z.number(),
  next_poll_at: z.string(),
  run_id: z.string().nullable(),
});
const Linked = z.object({ status: z.literal('linked'), account: GitAccount.nullable() });

export function linkSchema(): JsonSchema {
  return z.union([Linked, Pending]).toJSONSchema(options) as JsonSchema;
}

export function connectSchema(): JsonSchema {
  return z.union([connectGit.answer, Pending, beginGitConnection.answer]).toJSONSchema(options) as JsonSchema;
}

export function bootstrapSchema(): JsonSchema {
  return z.union([startBootstrap.answer, Pending, Linked]).toJSONSchema(options) as JsonSchema;
}
