import { startBootstrap } from '@svc/contract/bootstrap.shapes.ts';
import { LogLine } from '@svc/contract/deployments.shapes.ts';
import { beginGitConnection, connectGit } from '@svc/contract/git-connections.shapes.ts';
import { GitAccount } from '@svc/contract/git-host.shapes.ts';
import { finalizeRelease } from '@svc/contract/static-sites.shapes.ts';
import { z } from 'zod';

const Pending = z.object({
  status: z.literal('pending'),
  device_code: z
    .string()
    .optional()
    .meta({ description: 'Only when it is issued: a secret, for --device-code.' }),
  user_code: z.string().nullable(),
  verification_uri: z.string().nullable(),
  expires_at: z.string().nullable(),
  interval_seconds: z.number(),
  next_poll_at: z.string(),
  run_id: z.string().nullable(),
});
const Linked = z.object({ status: z.literal('linked'), account: GitAccount.nullable() });

export const linkSchema = z.union([Linked, Pending]);
export const connectSchema = z.union([connectGit.answer, Pending, beginGitConnection.answer]);
export const bootstrapSchema = z.union([startBootstrap.answer, Pending, Linked]);
export const deployedSchema = finalizeRelease.answer.extend({
  uploaded: z
    .object({ files: z.int(), bytes: z.int() })
    .meta({ description: 'Uploaded by this run; files of the same content count once.' }),
});
export const logSchema = z.array(LogLine);
