import { select } from '@clack/prompts';
import { checkAvailability } from '@svc/contract/app-lists.ts';
import { createApp } from '@svc/contract/apps.shapes.ts';
import { deployMethods } from '@svc/contract/apps.ts';
import type { resourceTiers } from '@svc/contract/limits.ts';
import { listResourcePresets } from '@svc/contract/resource-presets.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import type { z } from 'zod';
import type { Ctx } from '../context.ts';
import { CliError } from '../errors.ts';
import type { NewApp } from '../inputs/new-app.ts';
import { notAnswered } from '../prompt.ts';
import { askText } from './ask-text.ts';

/** Asks for what has not been given, on a terminal. What a shape of the contract refuses is refused at the key. */
export async function askNewApp(ctx: Ctx, given: NewApp, tenant: string): Promise<NewApp> {
  if (!(await ctx.io.isTerminal('stdin')) || !(await ctx.io.isTerminal('stderr'))) {
    throw new CliError('confirmation_required', '--interactive asks, and there is no terminal to ask on.', {
      next: 'Give the fields as flags, or with --from-file.',
    });
  }
  const app: NewApp = { ...given };
  const ask = (message: string, field: Field, standard?: string, judgeAtEnd?: AtEnd) =>
    askText(ctx, {
      message,
      judge: (text) => judge(field, text),
      ...(standard === undefined ? {} : { standard }),
      ...(judgeAtEnd && { judgeAtEnd }),
    });
  const free = (name: 'slug' | 'subdomain') => (text: string) => whyNotFree(ctx, tenant, { [name]: text });

  app.name ??= await ask('Name', 'name');
  app.slug ??= await ask('Slug', 'slug', slugFromName(app.name) ?? undefined, free('slug'));
  if (app.subdomain === undefined)
    app.subdomain = await ask('Subdomain', 'subdomain', app.slug.replace(/-{2,}/g, '-'), free('subdomain'));
  app.summary ??= await ask('Summary, in one line (may be empty)', 'summary', '');
  app.deploy_method ??= await choose(ctx, 'How is it deployed? (can not change later)', deployMethods);
  app.resource_preset ??= await chooseTier(ctx, tenant);
  return app;
}

/** Those that the tenant may have. */
async function chooseTier(ctx: Ctx, tenantID: string): Promise<(typeof resourceTiers)[number]> {
  const client = await ctx.client();
  const input = { params: { tenantID }, query: {} };
  const { items } = await client.call(listResourcePresets, input, { signal: ctx.signal });
  const allowed = items.filter((preset) => preset.allowed).map(({ name }) => name);
  return choose(ctx, 'Resource tier', allowed, items.find((preset) => preset.default)?.name);
}

type Field = 'name' | 'slug' | 'subdomain' | 'summary';
type AtEnd = (text: string) => Promise<string | undefined>;
const fields = createApp.body.shape;

function judge(field: Field, text: string): string | undefined {
  const shape: z.ZodType = fields[field];
  const result = shape.safeParse(text);
  return result.success ? undefined : result.error.issues[0]?.message;
}

async function whyNotFree(
  ctx: Ctx,
  tenantID: string,
  query: { slug?: string; subdomain?: string },
): Promise<string | undefined> {
  const client = await ctx.client();
  const answer = await client.call(
    checkAvailability,
    { params: { tenantID }, query },
    { signal: ctx.signal },
  );
  const name = answer.slug ?? answer.subdomain;
  if (!name || name.available) return undefined;
  const instead = name.suggestions.length === 0 ? '' : `; free: ${name.suggestions.join(', ')}`;
  return `is ${name.reason ?? 'taken'}${instead}`;
}

async function choose<const T extends string>(
  ctx: Ctx,
  message: string,
  values: readonly T[],
  first: T = values[0] as T,
): Promise<T> {
  const options = values.map((value) => ({ value, label: value as string }));
  const answer = await select<string>({
    message,
    options,
    initialValue: first,
    output: process.stderr,
    signal: ctx.signal,
  });
  const chosen = values.find((value) => value === answer);
  if (chosen === undefined) throw notAnswered();
  return chosen;
}
