import { answerError, UnexpectedAnswerError } from '@svc/contract/client.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import type { Icon, signIcon as shape } from '@svc/contract/icons.shapes.ts';
import {
  preCreateIcon as endpoint,
  type IconType,
  iconBytesMax,
  iconSideMax,
  signIcon,
} from '@svc/contract/icons.ts';
import { type ImageFacts, readImage } from '@svc/contract/read-image.ts';
import type { z } from 'zod';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError, usageError } from '../framework/errors.ts';
import { sanitize } from '../framework/text.ts';
import { fileUnreadableError } from '../inputs/files.ts';
import { carryOut } from '../mutation.ts';
import { AdvisedProblemError, planStaleError, rejectionError } from '../session/problems.ts';
import { request } from '../session/request.ts';
import { explicitTenant, resolveTenant } from '../session/tenant.ts';

export type SignedUpload = Answer<typeof shape>;

export async function uploadIcon(
  ctx: Ctx,
  { app, file, variant }: { app: string; file: string; variant: 'light' | 'dark' },
): Promise<Result> {
  const { bytes, image } = await readIconFile(file);
  const params = { tenantID: await resolveTenant(ctx), app };
  const body = { content_type: image.type, variant };
  const sign = async () => (await ctx.client()).call(signIcon, { params, body });
  return withUploadUrl((seen) =>
    carryOut(ctx, {
      preview: async () => ({ dry_run: true, ...seen(await sign()) }),
      execute: async (plan) => {
        const { plan: announced, ...upload } = await sign();
        if (plan !== undefined && plan !== announced.fingerprint) throw planStaleError();
        const icon = await sendIcon(ctx, { upload, bytes, plan });
        return { value: uploadResult(upload, announced.target.name, icon) };
      },
    }),
  );
}

function uploadResult(upload: Omit<SignedUpload, 'plan'>, app: string, icon: z.output<typeof Icon>) {
  const { app_id, size, width, height, sha256 } = icon;
  return { ...upload, uploaded: true, app, app_id, size, width, height, sha256 };
}

export async function preCreateIcon(
  ctx: Ctx,
  { slug, type, variant }: { slug: string; type: IconType; variant: 'light' | 'dark' },
): Promise<Result> {
  // Requires an explicit tenant, because no existing app would reveal a wrong one.
  const tenantID = await explicitTenant(ctx);
  if (tenantID === undefined) throw usageError('--pre-create requires --tenant.');
  const input = { params: { tenantID }, body: { slug, content_type: type, variant } };
  const sign = async () => (await ctx.client()).call(endpoint, input);
  return withUploadUrl((seen) =>
    carryOut(ctx, {
      preview: async () => ({ dry_run: true, ...seen(await sign()) }),
      execute: async (plan) => {
        const { plan: announced, ...upload } = await sign();
        if (plan !== undefined && plan !== announced.fingerprint) throw planStaleError();
        return { value: { ...upload, uploaded: false, slug } };
      },
    }),
  );
}

export async function withUploadUrl(
  carryOut: (seen: (signed: SignedUpload) => SignedUpload) => Promise<Result>,
): Promise<Result> {
  let signed: SignedUpload | undefined;
  const result = await carryOut((answer) => {
    signed = answer;
    return answer;
  });
  const { text } = result;
  if (signed === undefined || text === undefined) return result;
  const { put_url, icon_url, expires_at } = signed;
  const lines = Object.entries({ put_url, icon_url, expires_at }).map(
    ([name, value]) => `${name.padEnd(10)}  ${sanitize(value)}\n`,
  );
  return { ...result, text: (style) => lines.join('') + text(style) };
}

/** Sent without a login: the URL is the secret, so messages never contain it. */
export async function sendIcon(
  ctx: Ctx,
  {
    upload,
    bytes,
    plan,
  }: {
    upload: { put_url: string; icon_url: string; content_type: string };
    bytes: Uint8Array<ArrayBuffer>;
    plan: string | undefined;
  },
): Promise<z.output<typeof Icon>> {
  const headers = { 'content-type': upload.content_type, ...(plan !== undefined && { 'if-plan': plan }) };
  const response = await request(ctx, upload.put_url, { method: 'PUT', headers, body: bytes });
  const body: unknown = await response.json().catch(() => {
    throw new UnexpectedAnswerError(response.status, upload.icon_url, response.headers.get('x-request-id'));
  });
  if (!response.ok) throw answerError(response, upload.icon_url, body);
  return body as z.output<typeof Icon>;
}

export async function readIconFile(
  name: string,
): Promise<{ bytes: Uint8Array<ArrayBuffer>; image: ImageFacts }> {
  const bytes = await readAtMost(name, iconBytesMax);
  const image = readImage(bytes);
  if (image === null)
    throw rejectionError('unsupported_media_type', {
      detail: `${name} is not a supported image.`,
      next: 'Use a PNG, JPEG, WEBP or GIF file.',
    });
  const isSound = [image.width, image.height].every((side) => side >= 1 && side <= iconSideMax);
  if (isSound) return { bytes, image };
  const found =
    image.width * image.height === 0 ? 'of unknown size' : `${image.width} by ${image.height} pixels`;
  throw rejectionError('validation_failed', {
    detail: `${name} is ${found}.`,
    next: `Use an image of 1 to ${iconSideMax} pixels on each side.`,
  });
}

/** Checks the size while reading: a pipe has none, and a file may grow. */
async function readAtMost(name: string, bytesMax: number): Promise<Uint8Array<ArrayBuffer>> {
  const file = Bun.file(name);
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    if ((await file.stat()).isDirectory()) throw usageError(`${name} is a folder.`);
    for await (const chunk of file.stream()) {
      size += chunk.byteLength;
      if (size > bytesMax) throw tooLargeError(name, bytesMax);
      chunks.push(chunk);
    }
  } catch (cause) {
    if (cause instanceof CliError || cause instanceof AdvisedProblemError) throw cause;
    throw fileUnreadableError(name, cause);
  }
  return new Uint8Array(await new Blob(chunks as Uint8Array<ArrayBuffer>[]).arrayBuffer());
}

function tooLargeError(name: string, bytesMax: number): AdvisedProblemError {
  const limit = `${bytesMax} bytes (${bytesMax / 1024 / 1024} MB)`;
  return rejectionError('payload_too_large', {
    detail: `${name} is larger than ${limit}.`,
    next: 'Use a smaller image.',
  });
}
