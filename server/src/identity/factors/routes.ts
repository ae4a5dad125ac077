import * as shapes from '@svc/contract/factors.shapes.ts';
import * as endpoints from '@svc/contract/factors.ts';
import type { Ctx } from '../../core/context.ts';
import { type Route, route, routes } from '../../http/router.ts';
import { reauthenticate } from '../account/password.ts';
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
} from './factors.ts';
import { registrationOptions } from './passkeys.ts';
import { qrCode } from './qr-code.ts';

const addedRecord = ({ factor, recoveryCodes }: AddedFactor) => ({
  ...factor,
  recovery_codes: recoveryCodes ?? [],
});

export function factorRoutes({
  baseUrl,
  localPasswords,
}: {
  baseUrl: string;
  localPasswords: 'on' | 'off';
}): Route[] {
  const withPassword = {
    prepare: (ctx: Ctx, { body }: { body: { password: string } }) =>
      reauthenticate(ctx, { password: body.password, localPasswords }),
  };
  return [
    ...routes(endpoints, shapes, {
      listFactors: getSecurity,
      addPasskey: async (ctx, { body }) =>
        addedRecord(await addPasskey(ctx, { ...body, userId: ctx.caller.userId, baseUrl })),
      addTotp: async (ctx, { body }) =>
        addedRecord(await addTotp(ctx, { ...body, userId: ctx.caller.userId })),
      renameFactor: (ctx, { params, body }) =>
        renameFactor(ctx, { factor: params.factorID, name: body.name }),
    }),
    route(
      endpoints.startPasskey,
      shapes.startPasskey,
      async (ctx) => {
        const { userId: id, email, name } = ctx.caller;
        auditStart(ctx, 'passkey');
        return { options: { ...(await registrationOptions({ db: ctx.db, baseUrl }, { id, email, name })) } };
      },
      withPassword,
    ),
    route(
      endpoints.startTotp,
      shapes.startTotp,
      async (ctx) => {
        const { userId: id, email } = ctx.caller;
        auditStart(ctx, 'totp');
        const { secret, uri } = await startTotp({ db: ctx.db, baseUrl }, { id, email });
        return { secret, uri, qr_svg: await qrCode(uri) };
      },
      withPassword,
    ),
    route(
      endpoints.resetRecoveryCodes,
      shapes.resetRecoveryCodes,
      async (ctx) => ({ recovery_codes: await resetRecoveryCodes(ctx) }),
      withPassword,
    ),
    route(
      endpoints.removeFactor,
      shapes.removeFactor,
      (ctx, { params }) => removeFactor(ctx, { factor: params.factorID }),
      withPassword,
    ),
  ];
}
