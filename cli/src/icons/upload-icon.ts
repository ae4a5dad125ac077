import type { Answer } from '@svc/contract/endpoint.ts';
import type { Icon, signIcon as shape } from '@svc/contract/icons.shapes.ts';
import { signIcon } from '@svc/contract/icons.ts';
import type { z } from 'zod';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { planStale } from '../errors.ts';
import { carryOut } from '../mutation.ts';
import { resolveTenant } from '../tenant.ts';
import { readIconFile } from './read-icon-file.ts';
import { sendIcon } from './send-icon.ts';
import { showsAddress } from './shows-address.ts';

export type SignedUpload = Answer<typeof shape>;

/** Asks for an address, and sends the file there only when told to execute. */
export async function uploadIcon(
  ctx: Ctx,
  { app, file, variant }: { app: string; file: string; variant: 'light' | 'dark' },
): Promise<Result> {
  const { bytes, image } = await readIconFile(file);
  const params = { tenantID: await resolveTenant(ctx), app };
  const body = { content_type: image.type, variant };
  const sign = async () => (await ctx.client()).call(signIcon, { params, body }, { signal: ctx.signal });
  return showsAddress((seen) =>
    carryOut(ctx, {
      preview: async () => ({ dry_run: true, ...seen(await sign()) }),
      execute: async (plan) => {
        const { plan: announced, ...address } = await sign();
        if (plan !== undefined && plan !== announced.fingerprint) throw planStale();
        const icon = await sendIcon(ctx, { address, bytes, plan });
        return { value: resultOf(address, announced.target.name, icon) };
      },
    }),
  );
}

function resultOf(address: Omit<SignedUpload, 'plan'>, app: string, icon: z.output<typeof Icon>) {
  const { app_id, size, width, height, sha256 } = icon;
  return { ...address, uploaded: true, app, app_id, size, width, height, sha256 };
}
