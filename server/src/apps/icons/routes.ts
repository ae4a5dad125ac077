import * as shapes from '@svc/contract/icons.shapes.ts';
import * as endpoints from '@svc/contract/icons.ts';
import { type Route, routes } from '../../http/router.ts';
import type { IconSigner } from './claims.ts';
import { preCreateIcon, signIcon } from './icons.ts';

export const iconRoutes = (signer: IconSigner): Route[] =>
  routes(endpoints, shapes, {
    preCreateIcon: (ctx, { body }) =>
      preCreateIcon(ctx, { signer, slug: body.slug, variant: body.variant, type: body.content_type }),
    signIcon: (ctx, { body }) => signIcon(ctx, { signer, variant: body.variant, type: body.content_type }),
  });
