import * as factorsShapes from '@svc/contract/factors.shapes.ts';
import * as factorsEndpoints from '@svc/contract/factors.ts';
import * as identityShapes from '@svc/contract/identity.shapes.ts';
import * as identityEndpoints from '@svc/contract/identity.ts';
import * as serviceAccountsShapes from '@svc/contract/service-accounts.shapes.ts';
import * as serviceAccountsEndpoints from '@svc/contract/service-accounts.ts';
import type { Ctx } from '../core/context.ts';
import { type Route, route, routes } from '../http/router.ts';
import { changePassword, prepareChange, reauthenticate } from './account/password.ts';
import { listSignIns, type SignInDeps } from './account/sign-ins.ts';
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
} from './app-identity/service-accounts.ts';
import {
  type AddedFactor,
  addPasskey,
  addTotp,
  auditStart,
  getSecurity,
  removeFactor,
  renameFactor,
  resetRecoveryCodes,
  startTotp,
} from './factors/factors.ts';
import { registrationOptions } from './factors/passkeys.ts';
import { qrCode } from './factors/totp.ts';
import { createPat, listPats, revokePat } from './pats/pats.ts';
import { listSessions, revokeSession } from './sessions/sessions.ts';

type PasswordDeps = SignInDeps & { localPasswords: 'on' | 'off' };

export function accountRoutes(deps: PasswordDeps): Route[] {
  return [
    ...routes(identityEndpoints, identityShapes, {
      listSignIns: (ctx, { query }) => listSignIns(ctx, query),
    }),
    route(
      identityEndpoints.changePassword,
      identityShapes.changePassword,
      async (ctx, { body }) => {
        await changePassword(ctx, { password: body.new_password });
        return { changed_at: ctx.now.toISOString() };
      },
      {
        prepare: (ctx, { body }) => prepareChange(ctx, { ...deps, password: body.current_password }),
      },
    ),
  ];
}

export const sessionRoutes: Route[] = routes(identityEndpoints, identityShapes, {
  listSessions: (ctx, { query }) => listSessions(ctx, query),
  revokeSession: async (ctx, { params }) => {
    await revokeSession(ctx, { session: params.sessionID });
    return undefined;
  },
});

const addedRecord = ({ factor, recoveryCodes }: AddedFactor) => ({
  ...factor,
  recovery_codes: recoveryCodes ?? [],
});

export function factorRoutes({ baseUrl, ...deps }: PasswordDeps & { baseUrl: string }): Route[] {
  const withPassword = {
    prepare: (ctx: Ctx, { body }: { body: { password: string } }) =>
      reauthenticate(ctx, { ...deps, password: body.password }),
  };
  return [
    ...routes(factorsEndpoints, factorsShapes, {
      listFactors: getSecurity,
      addPasskey: async (ctx, { body }) =>
        addedRecord(await addPasskey(ctx, { ...body, userId: ctx.caller.userId, baseUrl })),
      addTotp: async (ctx, { body }) =>
        addedRecord(await addTotp(ctx, { ...body, userId: ctx.caller.userId })),
      renameFactor: (ctx, { params, body }) =>
        renameFactor(ctx, { factor: params.factorID, name: body.name }),
    }),
    route(
      factorsEndpoints.startPasskey,
      factorsShapes.startPasskey,
      async (ctx) => {
        const { userId: id, email, name } = ctx.caller;
        auditStart(ctx, 'passkey');
        return { options: { ...(await registrationOptions({ db: ctx.db, baseUrl }, { id, email, name })) } };
      },
      withPassword,
    ),
    route(
      factorsEndpoints.startTotp,
      factorsShapes.startTotp,
      async (ctx) => {
        const { userId: id, email } = ctx.caller;
        auditStart(ctx, 'totp');
        const { secret, uri } = await startTotp({ db: ctx.db, baseUrl }, { id, email });
        return { secret, uri, qr_svg: await qrCode(uri) };
      },
      withPassword,
    ),
    route(
      factorsEndpoints.resetRecoveryCodes,
      factorsShapes.resetRecoveryCodes,
      async (ctx) => ({ recovery_codes: await resetRecoveryCodes(ctx) }),
      withPassword,
    ),
    route(
      factorsEndpoints.removeFactor,
      factorsShapes.removeFactor,
      (ctx, { params }) => removeFactor(ctx, { factor: params.factorID }),
      withPassword,
    ),
  ];
}

export const patRoutes: Route[] = routes(identityEndpoints, identityShapes, {
  listPats: (ctx, { query: { all, ...page } }) =>
    listPats(ctx, { ...page, of: all === 'true' ? 'everyone' : 'caller' }),
  createPat: (ctx, { body }) => createPat(ctx, body),
  revokePat: (ctx, { params }) => revokePat(ctx, { patId: params.patID }),
});

export const serviceAccountRoutes = (deps: Parameters<typeof addTrustRule>[2]): Route[] =>
  routes(serviceAccountsEndpoints, serviceAccountsShapes, {
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
