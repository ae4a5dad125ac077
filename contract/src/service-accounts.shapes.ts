import { z } from 'zod';
import { appParams } from './apps.shapes.ts';
import { patNameCharsMax } from './identity.ts';
import {
  githubIssuer,
  gitlabIssuer,
  serviceAccountActions,
  serviceTokenLifeDaysMax,
  trustClaimsMax,
} from './service-accounts.ts';
import {
  displayName,
  empty,
  page,
  pageQuery,
  ref,
  slug,
  someOf,
  text,
  timestamp,
  unchanged,
  uuid,
} from './shapes.ts';

const claims = z.record(z.string(), z.string());

export const TrustRule = z.object({
  id: uuid,
  issuer: z.string(),
  audience: z.string(),
  claims: claims.meta({ description: 'A pattern for each claim; `*` matches any characters.' }),
  created_at: timestamp,
});

export const ServiceAccount = z.object({
  id: uuid,
  tenant_id: uuid,
  app_id: uuid,
  name: z.string(),
  actions: z.array(z.enum(serviceAccountActions)),
  allows: z.array(z.string()).meta({ description: 'What its tokens can do, one sentence for each action.' }),
  trust: z.array(TrustRule),
  created_by: uuid,
  created_at: timestamp,
  updated_at: timestamp,
});

export const ServiceToken = z.object({
  id: uuid,
  account_id: uuid,
  name: z.string(),
  hint: z.string().meta({ description: 'The last four characters, to tell tokens apart.' }),
  kind: z.enum(['created', 'exchanged']).meta({
    description: '`exchanged`: for a token of a trusted issuer.',
  }),
  status: z.enum(['active', 'expired']),
  created_at: timestamp,
  expires_at: timestamp,
  last_used_at: z.string(),
});

const settings = {
  name: slug.meta({ description: 'Unique within the app.' }),
  actions: z
    .array(z.enum(serviceAccountActions))
    .min(1)
    .transform((list) => serviceAccountActions.filter((action) => list.includes(action))),
};

const accountParams = appParams.extend({ account: ref.meta({ description: 'An id (UUID) or a name.' }) });

export const listServiceAccounts = { params: appParams, query: pageQuery, answer: page(ServiceAccount) };
export const createServiceAccount = {
  params: appParams,
  body: z.strictObject(settings),
  answer: ServiceAccount,
};
export const getServiceAccount = { params: accountParams, answer: ServiceAccount };
export const updateServiceAccount = {
  params: accountParams,
  body: someOf(settings),
  answer: ServiceAccount.extend({ changed: unchanged }),
};
export const deleteServiceAccount = { params: accountParams, answer: empty };

export const listServiceTokens = { params: accountParams, query: pageQuery, answer: page(ServiceToken) };
export const createServiceToken = {
  params: accountParams,
  body: z.strictObject({
    name: displayName(1, patNameCharsMax),
    expires_in_days: z.int().min(1).max(serviceTokenLifeDaysMax).optional(),
  }),
  answer: ServiceToken.extend({ secret: z.string().meta({ description: 'Shown once.' }) }),
};
export const revokeServiceToken = { params: accountParams.extend({ tokenID: uuid }), answer: empty };

/** An issuer is compared as text (RFC 8414 §4), so only its canonical spelling is accepted. */
const issuer = text
  .max(500)
  .refine((value) => isIssuer(value), {
    error: 'must be an https URL without query, fragment, user name and final slash',
  })
  .meta({ description: 'Such as `https://token.actions.githubusercontent.com`.' });

function isIssuer(value: string): boolean {
  const url = URL.parse(value);
  if (!url || !['https:', 'http:'].includes(url.protocol) || url.username !== '' || url.password !== '')
    return false;
  return (
    !/[?#]/.test(value) && url.href === (url.pathname === '/' ? `${value}/` : value) && !value.endsWith('/')
  );
}

const claimName = z.string().regex(/^[\w:./-]{1,100}$/, 'must be the name of a claim');
/** At least one character that is not a wildcard: a pattern that matches everything checks nothing. */
const claimPattern = text
  .min(1)
  .max(500)
  .refine((value) => /[^*]/.test(value), { error: 'must have a character other than *' });

/** Everybody can have tokens of these issuers. */
const publicIssuers: readonly string[] = [githubIssuer, gitlabIssuer];
const projectClaims = [
  'sub',
  'repository',
  'repository_id',
  'repository_owner',
  'repository_owner_id',
  'project_path',
  'project_id',
  'namespace_path',
  'namespace_id',
];
function namesProject(rule: { issuer: string; claims: Record<string, string> }): boolean {
  if (!publicIssuers.includes(rule.issuer)) return true;
  return projectClaims.some((name) => {
    const [owner = '*'] = (rule.claims[name] ?? '*').split('/');
    return !owner.includes('*');
  });
}

export const addTrustRule = {
  params: accountParams,
  body: z
    .strictObject({
      issuer,
      audience: text.min(1).max(500).optional().meta({
        description: 'What `aud` of the token must contain; the base URL of the platform when absent.',
      }),
      claims: z
        .record(claimName, claimPattern)
        .refine((value) => Object.keys(value).length > 0, {
          error: 'must name a claim: an issuer alone stands for everybody who uses it',
        })
        .refine((value) => Object.keys(value).length <= trustClaimsMax, {
          error: `must have at most ${trustClaimsMax} claims`,
        })
        .meta({ description: 'A pattern for each claim; `*` matches any characters.' }),
    })
    .refine(namesProject, {
      path: ['claims'],
      error: `must name whose jobs are meant, without * in the owner: one of ${projectClaims.join(', ')}`,
    }),
  answer: ServiceAccount.extend({ changed: unchanged }),
};
export const removeTrustRule = { params: accountParams.extend({ ruleID: uuid }), answer: empty };
