import { LogLine } from '@svc/contract/deployments.shapes.ts';
import { z } from 'zod';
import type { JsonSchema } from '../command.ts';

export function logSchema(): JsonSchema {
  return z.array(LogLine).toJSONSchema({ io: 'input', unrepresentable: 'any' }) as JsonSchema;
}
