import { act, change, owners, ownersOrAdmin, read, remove, update } from './endpoint.ts';
import type * as shapes from './service-accounts.shapes.ts';

/** What a service account can do with its app. Each action is granted by itself; none includes another. */
export const serviceAccountActions = ['rows', 'tables', 'storage', 'deploy'] as const;
export type ServiceAccountAction = (typeof serviceAccountActions)[number];

const sentences: Record<ServiceAccountAction, string> = {
  rows: "Read, insert, update and delete rows of the app's tables.",
  tables: "Create, change and delete the app's tables, columns and indexes.",
  storage: "Read, upload, copy and delete objects of the app's storage.",
  deploy: 'Deploy the app, read build logs, and cancel and roll back deployments.',
};

export function describeServiceAccountAction(action: ServiceAccountAction): string {
  return sentences[action];
}

export const serviceAccountsPerAppMax = 50;
export const serviceTokensPerAccountMax = 20;
export const serviceTokenLifeDaysMax = 90;
export const serviceTokenLifeDaysDefault = 30;
export const trustRulesPerAccountMax = 20;
export const trustClaimsMax = 10;
export const exchangedTokenSeconds = 15 * 60;
export const appTokenSeconds = 3600;

/** RFC 8693. */
export const tokenExchangeGrantType = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const subjectTokenTypes = [
  'urn:ietf:params:oauth:token-type:jwt',
  'urn:ietf:params:oauth:token-type:id_token',
] as const;
export const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

export const githubIssuer = 'https://token.actions.githubusercontent.com';
export const gitlabIssuer = 'https://gitlab.com';

/** Followed by a secret: the URL by which an instance of an app gets its next token. */
export const appTokenPrefix = '/app-token/';

const collection = '/api/v1/tenants/{tenantID}/apps/{app}/service-accounts';
const one = `${collection}/{account}`;

export const listServiceAccounts = read<typeof shapes.listServiceAccounts>()({
  id: 'serviceAccounts.list',
  path: collection,
  summary: "List the app's service accounts, by name",
  ...ownersOrAdmin,
});

export const createServiceAccount = change<typeof shapes.createServiceAccount>()({
  id: 'serviceAccounts.create',
  path: collection,
  summary: 'Create a service account, with which CI or another program acts for the app',
  ...owners,
  errors: ['unique_violation', 'limit_reached', 'app_not_active'],
});

export const getServiceAccount = read<typeof shapes.getServiceAccount>()({
  id: 'serviceAccounts.get',
  path: one,
  summary: 'Get a service account with its trust rules',
  ...ownersOrAdmin,
});

export const updateServiceAccount = update<typeof shapes.updateServiceAccount>()({
  id: 'serviceAccounts.update',
  path: one,
  summary: 'Change the name or the actions of a service account; effective immediately for its tokens',
  ...owners,
  errors: ['unique_violation'],
});

export const deleteServiceAccount = remove<typeof shapes.deleteServiceAccount>()({
  id: 'serviceAccounts.delete',
  path: one,
  summary: 'Delete a service account; its tokens stop working immediately',
  ...ownersOrAdmin,
  irreversible: true,
});

export const listServiceTokens = read<typeof shapes.listServiceTokens>()({
  id: 'serviceTokens.list',
  path: `${one}/tokens`,
  summary: 'List the tokens of a service account, newest first',
  ...ownersOrAdmin,
});

export const createServiceToken = change<typeof shapes.createServiceToken>()({
  id: 'serviceTokens.create',
  path: `${one}/tokens`,
  summary: 'Create a token of a service account; its secret is only in this response',
  ...owners,
  errors: ['limit_reached', 'app_not_active'],
});

export const revokeServiceToken = remove<typeof shapes.revokeServiceToken>()({
  id: 'serviceTokens.revoke',
  path: `${one}/tokens/{tokenID}`,
  summary: 'Revoke a token of a service account; it stops working immediately',
  ...ownersOrAdmin,
  irreversible: true,
});

export const addTrustRule = act<typeof shapes.addTrustRule>()({
  id: 'trustRules.add',
  path: `${one}/trust`,
  summary: 'Trust the tokens of an OpenID issuer, such as GitHub Actions, that have certain claims',
  ...owners,
  status: 201,
  errors: ['limit_reached', 'app_not_active'],
});

export const removeTrustRule = remove<typeof shapes.removeTrustRule>()({
  id: 'trustRules.remove',
  path: `${one}/trust/{ruleID}`,
  summary: 'Remove a trust rule; tokens that were issued by it stop working immediately',
  ...ownersOrAdmin,
});
