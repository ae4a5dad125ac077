import { isCancel, TextPrompt } from '@clack/core';
import { select } from '@clack/prompts';
import { checkAvailability } from '@svc/contract/app-lists.ts';
import { createApp } from '@svc/contract/apps.shapes.ts';
import { deployMethods } from '@svc/contract/apps.ts';
import type { resourceTiers } from '@svc/contract/limits.ts';
import { listResourcePresets } from '@svc/contract/resource-presets.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import type { z } from 'zod';
import type { Ctx } from '../context.ts';
import { CliError } from '../framework/errors.ts';
import { notAnsweredError, restoreTerminal } from '../framework/prompt.ts';
import { type Style, tint } from '../framework/text.ts';
import { detectStyle } from '../output/render.ts';
import type { NewApp } from './new-app.ts';

export async function askNewApp(ctx: Ctx, known: NewApp, tenant: string): Promise<NewApp> {
  if (!(await ctx.io.isTerminal('stdin')) || !(await ctx.io.isTerminal('stderr'))) {
    throw new CliError('confirmation_required', '--interactive needs a terminal.', {
      next: 'Pass the fields as flags, or with --from-file.',
    });
  }
  const app: NewApp = { ...known };
  const ask = (message: string, field: Field, standard?: string, validateOnSubmit?: ValidateOnSubmit) =>
    askText(ctx, {
      message,
      validate: (text) => validateField(field, text),
      ...(standard === undefined ? {} : { standard }),
      ...(validateOnSubmit && { validateOnSubmit }),
    });
  const free = (name: 'slug' | 'subdomain') => (text: string) =>
    unavailableReason(ctx, tenant, { [name]: text });

  app.name ??= await ask('Name', 'name');
  app.slug ??= await ask('Slug', 'slug', slugFromName(app.name) ?? undefined, free('slug'));
  if (app.subdomain === undefined)
    app.subdomain = await ask('Subdomain', 'subdomain', app.slug.replace(/-{2,}/g, '-'), free('subdomain'));
  app.summary ??= await ask('Summary (optional)', 'summary', '');
  app.deploy_method ??= await choose(ctx, 'Deploy method (cannot change later)', deployMethods);
  app.resource_preset ??= await chooseTier(ctx, tenant);
  return app;
}

async function chooseTier(ctx: Ctx, tenantID: string): Promise<(typeof resourceTiers)[number]> {
  const client = await ctx.client();
  const input = { params: { tenantID }, query: {} };
  const { items } = await client.call(listResourcePresets, input);
  const allowed = items.filter((preset) => preset.allowed).map(({ name }) => name);
  return choose(ctx, 'Resource tier', allowed, items.find((preset) => preset.default)?.name);
}

type Field = 'name' | 'slug' | 'subdomain' | 'summary';
type ValidateOnSubmit = (text: string) => Promise<string | undefined>;
const fields = createApp.body.shape;

function validateField(field: Field, text: string): string | undefined {
  const shape: z.ZodType = fields[field];
  const result = shape.safeParse(text);
  return result.success ? undefined : result.error.issues[0]?.message;
}

async function unavailableReason(
  ctx: Ctx,
  tenantID: string,
  query: { slug?: string; subdomain?: string },
): Promise<string | undefined> {
  const client = await ctx.client();
  const answer = await client.call(checkAvailability, { params: { tenantID }, query });
  const name = answer.slug ?? answer.subdomain;
  if (!name || name.available) return undefined;
  const instead = name.suggestions.length === 0 ? '' : `; available: ${name.suggestions.join(', ')}`;
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
  if (chosen === undefined) throw notAnsweredError();
  return chosen;
}

export interface Question {
  message: string;
  standard?: string;
  validate(text: string): string | undefined;
  validateOnSubmit?(text: string): Promise<string | undefined>;
}

export async function askText(ctx: Ctx, question: Question): Promise<string> {
  const style = await detectStyle(ctx.io);
  process.once('exit', restoreTerminal);
  const withDefault = (typed: string) => (typed === '' ? (question.standard ?? '') : typed);
  const prompt = new TextPrompt({
    output: process.stderr,
    signal: ctx.signal,
    ...(question.standard === undefined ? {} : { defaultValue: question.standard }),
    // Keys typed while a promise is pending are lost: await only the server.
    validate: (typed) => {
      const text = withDefault(typed ?? '');
      return question.validate(text) ?? question.validateOnSubmit?.(text);
    },
    // Always two lines: the library draws a frame with fewer lines than the previous one incorrectly.
    render() {
      const typed = this.userInput;
      if (this.state === 'submit') return `${question.message}: ${withDefault(typed)}\n`;
      if (this.state === 'cancel') return `${question.message}: ${tint(style, 'dim', typed)}\n`;
      const shown = typed === '' ? defaultText(style, question.standard ?? '') : this.userInputWithCursor;
      const error = this.state === 'error' ? this.error : '';
      return `${question.message}: ${shown}\n${validationText(style, question, typed, error)}`;
    },
  });
  const answer = await prompt.prompt();
  process.off('exit', restoreTerminal);
  if (isCancel(answer) || answer === undefined) throw notAnsweredError();
  return withDefault(answer);
}

function defaultText(style: Style, standard: string): string {
  if (standard === '') return '';
  return style.colour ? tint(style, 'dim', standard) : `(${standard})`;
}

function validationText(style: Style, question: Question, typed: string, error: string): string {
  const wrong = typed === '' ? error || undefined : (question.validate(typed) ?? (error || undefined));
  if (wrong !== undefined) return tint(style, 'red', `  ${wrong}`);
  return typed === '' ? '' : tint(style, 'dim', '  ok');
}
