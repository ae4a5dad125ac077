import { listAuditEntries } from '@svc/contract/tenants.shapes.ts';
import type { JsonSchema } from '../command.ts';

export function auditSchema(): JsonSchema {
  return listAuditEntries.answer.toJSONSchema({ io: 'input', unrepresentable: 'any' }) as JsonSchema;
}
