import * as shapes from '@svc/contract/service-accounts.shapes.ts';
import * as endpoints from '@svc/contract/service-accounts.ts';
import { type Route, routes } from '../../http/router.ts';
import {
  addTrustRule,
  createServiceAccount,
  createServiceToken,
  deleteServiceAccount,
  getServiceAccount,
  listServiceAccounts,
  listServiceTokens,
  removeTrustRule,
  revokeServiceToken,
  updateServiceAccount,
} from './service-accounts.ts';

export const serviceAccountRoutes = (deps: Parameters<typeof addTrustRule>[2]): Route[] =>
  routes(endpoints, shapes, {
    listServiceAccounts: (ctx, { query }) => listServiceAccounts(ctx, query),
    createServiceAccount: (ctx, { body }) => createServiceAccount(ctx, body),
    getServiceAccount: (ctx, { params: { account } }) => getServiceAccount(ctx, { account }),
    updateServiceAccount: (ctx, { params: { account }, body }) =>
      updateServiceAccount(ctx, { account, set: body }),
    deleteServiceAccount: (ctx, { params: { account } }) => deleteServiceAccount(ctx, { account }),
    listServiceTokens: (ctx, { params: { account }, query }) => listServiceTokens(ctx, { ...query, account }),
    createServiceToken: (ctx, { params: { account }, body }) => createServiceToken(ctx, { ...body, account }),
    revokeServiceToken: (ctx, { params: { account, tokenID } }) =>
      revokeServiceToken(ctx, { account, tokenId: tokenID }),
    addTrustRule: (ctx, { params: { account }, body }) => addTrustRule(ctx, { account, rule: body }, deps),
    removeTrustRule: (ctx, { params: { account, ruleID } }) =>
      removeTrustRule(ctx, { account, ruleId: ruleID }),
  });
