import * as shapes from '@svc/contract/icons.shapes.ts';
import * as endpoints from '@svc/contract/icons.ts';
import { type Route, route } from '../plumbing/route.ts';
import type { IconSigner } from './claims.ts';
import { preCreateIcon } from './pre-create-icon.ts';
import { signIcon } from './sign-icon.ts';

export const iconRoutes = (signer: IconSigner): Route[] => [
  route(endpoints.preCreateIcon, shapes.preCreateIcon, (ctx, { body }) =>
    preCreateIcon(ctx, { signer, slug: body.slug, variant: body.variant, type: body.content_type }),
  ),
  route(endpoints.signIcon, shapes.signIcon, (ctx, { body }) =>
    signIcon(ctx, { signer, variant: body.variant, type: body.content_type }),
  ),
];
