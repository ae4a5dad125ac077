import type { createApp } from '@svc/contract/apps.shapes.ts';
import { manifestKeys } from '@svc/contract/manifest.ts';
import type { z } from 'zod';
import type { Ctx } from '../context.ts';
import { usage } from '../errors.ts';
import { parseFlagValue } from '../flag-value.ts';
import type { Io } from '../io.ts';
import { appSettingFlags } from './app.ts';
import { parseDocumentText, readDocumentText } from './document.ts';
import { inputName } from './input-text.ts';

export type NewAppBody = z.input<typeof createApp.body>;
export type NewApp = Partial<NewAppBody>;

/** From flags, a file and questions, in this order of precedence. */
export async function newAppBody(
  ctx: Ctx,
  input: { given: NewApp; file: string | undefined; ask: 'all' | 'none'; tenant: string },
): Promise<NewAppBody> {
  const known = { ...(await fromFile(ctx, input.file)).app, ...withoutUndefined(input.given) };
  const app =
    input.ask === 'all'
      ? await (await import('../interactive/ask-new-app.ts')).askNewApp(ctx, known, input.tenant)
      : known;
  if (input.ask === 'all') ctx.mutation.argv = answeredLine(ctx.mutation.argv, known, app);
  const name = app.name ?? app.slug;
  if (name === undefined)
    throw usage(
      `${input.file === undefined ? 'The input' : inputName(input.file)} gives neither a name nor a slug.`,
    );
  return { ...app, name };
}

/** The line that does the same without asking: what was answered, as flags. */
function answeredLine(argv: readonly string[], known: NewApp, app: NewApp): string[] {
  const flags = { deploy_method: 'deploy-method', resource_preset: 'resource-tier' } as Record<
    string,
    string
  >;
  const answered = Object.entries(app).filter(([field]) => !Object.hasOwn(known, field));
  return [
    ...argv.filter((token) => token !== '--interactive'),
    ...answered.map(([field, value]) => `--${flags[field] ?? field}=${value}`),
  ];
}

/** The tenant that the file is about, if it says one. */
export async function tenantOfFile(ctx: Ctx, path: string | undefined): Promise<string | undefined> {
  return (await fromFile(ctx, path)).tenant;
}

interface Described {
  app: NewApp;
  tenant?: string | undefined;
}

/** Asked for its tenant, then for its app, and standard input can be read once. */
const described = new WeakMap<Io, Promise<Described>>();

function fromFile(ctx: Ctx, path: string | undefined): Promise<Described> {
  const known = described.get(ctx.io) ?? readDescribed(ctx, path);
  described.set(ctx.io, known);
  return known;
}

/** The fields themselves, or `svc.yaml`, which has them in places of its own. */
async function readDescribed(ctx: Ctx, path: string | undefined): Promise<Described> {
  if (path === undefined) return { app: {} };
  const text = await readDocumentText(ctx, path);
  const document = await parseDocumentText(text, path);
  const isManifest = Object.keys(document).some(
    (key) => Object.hasOwn(manifestKeys, key) && !shared.has(key),
  );
  if (!isManifest) return { app: fieldsOf(document, path) };
  const { manifest } = (await import('../manifest.ts')).parseManifest(text, inputName(path));
  const { name, app, deploy, storage, tenant } = manifest;
  return {
    app: {
      ...withoutUndefined({ name, ...app, deploy_method: deploy?.method }),
      ...(storage?.enabled && { storage: { enabled: true } }),
    },
    tenant,
  };
}

/** In both kinds of file. */
const shared: ReadonlySet<string> = new Set(['name', 'storage']);

/** Also by the names that flags have. What is unknown is the server's to refuse. */
function fieldsOf(document: Record<string, unknown>, path: string): NewApp {
  const fields: Record<string, unknown> = {};
  const spelled: Record<string, string> = {};
  for (const [key, given] of Object.entries(document)) {
    const plain = key.replaceAll('-', '_');
    const field = plain === 'resource_tier' ? 'resource_preset' : plain;
    const value = key === 'data-scopes' ? scopesOf(given) : given;
    const before = Object.hasOwn(spelled, field) ? spelled[field] : undefined;
    if (before !== undefined && !Bun.deepEquals(fields[field], value))
      throw usage(`${inputName(path)} says ${before} and ${key}, which are one field, and they differ.`);
    spelled[field] = key;
    fields[field] = value;
  }
  return fields as NewApp;
}

/** Under the name of the flag, spelled as the flag takes it or as a list. */
function scopesOf(value: unknown): unknown {
  return typeof value === 'string'
    ? parseFlagValue('data-scopes', appSettingFlags['data-scopes'], value)
    : value;
}

function withoutUndefined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
