import type { Client } from '@svc/contract/client.ts';
import type { Ctx } from '../context.ts';
import { resolveTenant } from '../tenant.ts';

/** The objects of one app. */
export interface StoragePlace {
  client: Client;
  params: { tenantID: string; app: string };
}

export async function openStorage(ctx: Ctx, app: string): Promise<StoragePlace> {
  return { params: { tenantID: await resolveTenant(ctx), app }, client: await ctx.client() };
}
