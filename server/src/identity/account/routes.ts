import * as shapes from '@svc/contract/identity.shapes.ts';
import * as endpoints from '@svc/contract/identity.ts';
import { type Route, route, routes } from '../../http/router.ts';
import { changePassword, prepareChange } from './password.ts';
import { listSignIns } from './sign-ins.ts';

export function accountRoutes({ localPasswords }: { localPasswords: 'on' | 'off' }): Route[] {
  return [
    ...routes(endpoints, shapes, { listSignIns: (ctx, { query }) => listSignIns(ctx, query) }),
    route(
      endpoints.changePassword,
      shapes.changePassword,
      async (ctx, { body }) => {
        await changePassword(ctx, { password: body.new_password });
        return { changed_at: ctx.now.toISOString() };
      },
      {
        prepare: (ctx, { body }) => prepareChange(ctx, { password: body.current_password, localPasswords }),
      },
    ),
  ];
}
