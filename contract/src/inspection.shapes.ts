import { z } from 'zod';
import { appParams } from './apps.shapes.ts';
import { consentStatuses, inspectable, inspectionReasonCharsMax } from './inspection.ts';
import { chars, page, pageQuery, timestamp, unchanged, uuid } from './shapes.ts';
import { Column, Index } from './tables.shapes.ts';

export const InspectionConsent = z.object({
  app_id: uuid,
  consent_id: uuid.nullable(),
  status: z.enum(consentStatuses),
  granted_by: uuid.nullable(),
  granted_at: timestamp.nullable(),
  revoked_by: uuid.nullable(),
  revoked_at: timestamp.nullable(),
  reads: z
    .int()
    .meta({ description: 'Number of entries in the ledger, including those under earlier consents.' }),
});

export const LedgerEntry = z.object({
  id: uuid,
  consent_id: uuid,
  reader_id: uuid,
  reader_email: z.string(),
  what: z.enum(inspectable),
  reason: z.string(),
  at: timestamp,
});

export const InspectedTable = z.object({
  name: z.string(),
  description: z.string(),
  owner_column: z.string().nullable(),
  columns: z.array(Column),
  indexes: z.array(Index.pick({ name: true, columns: true, unique: true, search: true, language: true })),
});

export const getInspectionConsent = { params: appParams, answer: InspectionConsent };
export const setInspectionConsent = {
  params: appParams,
  body: z.strictObject({ granted: z.boolean() }),
  answer: InspectionConsent.extend({ changed: unchanged }),
};
export const listInspections = { params: appParams, query: pageQuery, answer: page(LedgerEntry) };
export const inspectApp = {
  params: appParams,
  body: z.strictObject({
    what: z.enum(inspectable),
    reason: chars(1, inspectionReasonCharsMax).meta({
      description: 'Stored in the ledger, which owners can read.',
    }),
  }),
  answer: LedgerEntry.extend({ app_id: uuid, tables: z.array(InspectedTable) }),
};
