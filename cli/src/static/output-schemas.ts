import { finalizeRelease, setSite, startSiteAuth } from '@svc/contract/static-sites.shapes.ts';
import { z } from 'zod';
import type { JsonSchema } from '../command.ts';

const options = { io: 'input', unrepresentable: 'any' } as const;

/** A release, and what was sent of it. */
export function deployedSchema(): JsonSchema {
  const uploaded = z
    .object({ files: z.int(), bytes: z.int() })
    .meta({ description: 'What this run has sent; files of the same content count once.' });
  return finalizeRelease.answer.extend({ uploaded }).toJSONSchema(options) as JsonSchema;
}

export function siteSetSchema(): JsonSchema {
  return setSite.answer.toJSONSchema(options) as JsonSchema;
}

export function authStartSchema(): JsonSchema {
  return startSiteAuth.answer.toJSONSchema(options) as JsonSchema;
}
