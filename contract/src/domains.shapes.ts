import { z } from 'zod';
import { appParams } from './apps.shapes.ts';
import { disconnectReasons, domainCheckReasons, domainCheckStates, domainStatuses } from './domains.ts';
import { empty, page, pageQuery, text, timestamp, uuid } from './shapes.ts';

export const DomainCheck = z.object({
  state: z.enum(domainCheckStates),
  reason: z.enum(domainCheckReasons).nullable().meta({ description: 'Null if the check passed.' }),
  expected: z.string().meta({ description: 'Expected values; empty if none are required.' }),
  found: z.array(z.string()),
  next_step: z.string().meta({ description: 'What to do; empty if nothing.' }),
});

export const DnsRecordToPublish = z.object({
  type: z.enum(['TXT', 'CNAME', 'A', 'AAAA']),
  name: z.string(),
  value: z.string(),
  purpose: z.enum(['ownership', 'routing']),
});

export const Domain = z.object({
  id: uuid,
  app_id: uuid,
  host: z.string().meta({ description: 'In DNS form: ASCII, lower case.' }),
  host_unicode: z.string(),
  status: z.enum(domainStatuses),
  disconnected_for: z.enum(disconnectReasons).nullable(),
  ownership: DomainCheck,
  routing: DomainCheck,
  certificate: DomainCheck,
  records: z.array(DnsRecordToPublish).meta({
    description:
      'To be published. A host without a CNAME of its own, such as the top of a zone, has A and AAAA.',
  }),
  url: z.string(),
  created_at: timestamp,
  verified_at: timestamp.nullable().meta({ description: 'When it last became active.' }),
  last_checked_at: timestamp.nullable(),
  next_check_at: timestamp
    .nullable()
    .meta({ description: 'Time of the next automatic check; null for never.' }),
  disconnected_at: timestamp.nullable(),
});

/** Domains are named by id only: a host may belong to domains of several apps. */
export const domainParams = appParams.extend({ domain: uuid });

export const listDomains = { params: appParams, query: pageQuery, answer: page(Domain) };
export const addDomain = {
  params: appParams,
  body: z.strictObject({
    host: text.min(1).max(1_000).meta({
      description: 'A host name such as `www.example.com`, in any alphabet; without scheme, port and path.',
    }),
  }),
  answer: Domain,
};
export const getDomain = { params: domainParams, answer: Domain };
export const removeDomain = { params: domainParams, answer: empty };
export const verifyDomain = { params: domainParams, answer: Domain };
