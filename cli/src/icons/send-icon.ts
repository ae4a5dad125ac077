import { answerError, UnexpectedAnswerError } from '@svc/contract/client.ts';
import type { Icon } from '@svc/contract/icons.shapes.ts';
import type { z } from 'zod';
import type { Ctx } from '../context.ts';
import { request } from '../io.ts';

/** Without a login: the address says it all, and is named in no message for that reason. */
export async function sendIcon(
  ctx: Ctx,
  {
    address,
    bytes,
    plan,
  }: {
    address: { put_url: string; icon_url: string; content_type: string };
    bytes: Uint8Array<ArrayBuffer>;
    plan: string | undefined;
  },
): Promise<z.output<typeof Icon>> {
  const headers = { 'content-type': address.content_type, ...(plan !== undefined && { 'if-plan': plan }) };
  const response = await request(ctx, address.put_url, { method: 'PUT', headers, body: bytes });
  const body: unknown = await response.json().catch(() => {
    throw new UnexpectedAnswerError(response.status, address.icon_url, response.headers.get('x-request-id'));
  });
  if (!response.ok) throw answerError(response, address.icon_url, body);
  return body as z.output<typeof Icon>;
}
