import type { createApp } from '@svc/contract/apps.shapes.ts';
import { manifestKeys } from '@svc/contract/manifest.ts';
import type { z } from 'zod';
import type { Ctx } from '../context.ts';
import { usageError } from '../framework/errors.ts';
import { parseFlagValue } from '../framework/flag-values.ts';
import type { Io } from '../framework/io.ts';
import { appSettingFlags } from './app.ts';
import { parseDocumentText, readDocumentText } from './document.ts';
import { inputName } from './files.ts';

export type NewAppBody = z.input<typeof createApp.body>;
export type NewApp = Partial<NewAppBody>;

export async function newAppBody(
  ctx: Ctx,
  input: { fields: NewApp; file: string | undefined; ask: 'all' | 'none'; tenant: string },
): Promise<NewAppBody> {
  const known = { ...(await fromFile(ctx, input.file)).app, ...withoutUndefined(input.fields) };
  const app =
    input.ask === 'all'
      ? await (await import('./new-app-prompts.ts')).askNewApp(ctx, known, input.tenant)
      : known;
  if (input.ask === 'all') ctx.mutation.argv = nonInteractiveArgv(ctx.mutation.argv, known, app);
  const name = app.name ?? app.slug;
  if (name === undefined)
    throw usageError(
      `${input.file === undefined ? 'The input' : inputName(input.file)} has neither a name nor a slug.`,
    );
  return { ...app, name };
}

function nonInteractiveArgv(argv: readonly string[], known: NewApp, app: NewApp): string[] {
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

export async function readFileTenant(ctx: Ctx, path: string | undefined): Promise<string | undefined> {
  return (await fromFile(ctx, path)).tenant;
}

interface AppFile {
  app: NewApp;
  tenant?: string | undefined;
}

/** Cached: the tenant and the app are read from it separately, and standard input can be read once only. */
const appFiles = new WeakMap<Io, Promise<AppFile>>();

function fromFile(ctx: Ctx, path: string | undefined): Promise<AppFile> {
  const known = appFiles.get(ctx.io) ?? readAppFile(ctx, path);
  appFiles.set(ctx.io, known);
  return known;
}

async function readAppFile(ctx: Ctx, path: string | undefined): Promise<AppFile> {
  if (path === undefined) return { app: {} };
  const text = await readDocumentText(ctx, path);
  const document = await parseDocumentText(text, path);
  const isManifest = Object.keys(document).some(
    (key) => Object.hasOwn(manifestKeys, key) && !sharedKeys.has(key),
  );
  if (!isManifest) return { app: normalizeFields(document, path) };
  const { manifest } = (await import('../manifest/manifest.ts')).parseManifest(text, inputName(path));
  const { name, app, deploy, storage, tenant } = manifest;
  return {
    app: {
      ...withoutUndefined({ name, ...app, deploy_method: deploy?.method }),
      ...(storage?.enabled && { storage: { enabled: true } }),
    },
    tenant,
  };
}

const sharedKeys: ReadonlySet<string> = new Set(['name', 'storage']);

function normalizeFields(document: Record<string, unknown>, path: string): NewApp {
  const fields: Record<string, unknown> = {};
  const spelled: Record<string, string> = {};
  for (const [key, input] of Object.entries(document)) {
    const plain = key.replaceAll('-', '_');
    const field = plain === 'resource_tier' ? 'resource_preset' : plain;
    const value = key === 'data-scopes' ? parseScopes(input) : input;
    const before = Object.hasOwn(spelled, field) ? spelled[field] : undefined;
    if (before !== undefined && !Bun.deepEquals(fields[field], value))
      throw usageError(
        `${inputName(path)} has different values for ${before} and ${key}, which are the same field.`,
      );
    spelled[field] = key;
    fields[field] = value;
  }
  return fields as NewApp;
}

function parseScopes(value: unknown): unknown {
  return typeof value === 'string'
    ? parseFlagValue('data-scopes', appSettingFlags['data-scopes'], value)
    : value;
}

function withoutUndefined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
