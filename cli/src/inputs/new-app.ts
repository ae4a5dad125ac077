import type { createApp } from '@svc/contract/apps.shapes.ts';
import { manifestKeys } from '@svc/contract/manifest.ts';
import type { z } from 'zod';
import type { Ctx } from '../context.ts';
import { usage } from '../errors.ts';
import { readDocument } from './document.ts';

export type NewAppBody = z.input<typeof createApp.body>;
export type NewApp = Partial<NewAppBody>;

/** From flags, a file and questions, in this order of precedence. */
export async function newAppBody(
  ctx: Ctx,
  input: { given: NewApp; file: string | undefined; ask: 'all' | 'none'; tenant: string },
): Promise<NewAppBody> {
  const described = { ...(await fromFile(ctx, input.file)), ...withoutUndefined(input.given) };
  const app =
    input.ask === 'all'
      ? await (await import('../interactive/ask-new-app.ts')).askNewApp(ctx, described, input.tenant)
      : described;
  const name = app.name ?? app.slug;
  if (name === undefined) throw usage(`${input.file ?? 'The input'} gives neither a name nor a slug.`);
  return { ...app, name };
}

/** The fields themselves, or `svc.yaml`, which has them in places of its own. */
async function fromFile(ctx: Ctx, path: string | undefined): Promise<NewApp> {
  const document = await readDocument(ctx, path);
  const isManifest = Object.keys(document).some(
    (key) => Object.hasOwn(manifestKeys, key) && !shared.has(key),
  );
  if (!isManifest || path === undefined || path === '-') return fieldsOf(document);
  const { manifest } = await (await import('../manifest.ts')).readManifest(path);
  return {
    ...withoutUndefined({ name: manifest.name, ...manifest.app, deploy_method: manifest.deploy?.method }),
    ...(manifest.storage?.enabled && { storage: { enabled: true } }),
  };
}

/** In both kinds of file. */
const shared: ReadonlySet<string> = new Set(['name', 'storage']);

/** Also by the names that flags have. What is unknown is the server's to refuse. */
function fieldsOf(document: Record<string, unknown>): NewApp {
  const named = Object.entries(document).map(([key, value]) => {
    const field = key.replaceAll('-', '_');
    return [field === 'resource_tier' ? 'resource_preset' : field, value];
  });
  return Object.fromEntries(named) as NewApp;
}

function withoutUndefined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
