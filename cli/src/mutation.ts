import type { Answer, Endpoint, Input, Shape } from '@svc/contract/endpoint.ts';
import { uuidPattern } from '@svc/contract/limits.ts';
import type { Preview } from '@svc/contract/plan.ts';
import type { Confirmation, Result, View } from './command.ts';
import type { Ctx } from './context.ts';
import { CliError, usageError } from './framework/errors.ts';
import type { Style } from './framework/text.ts';
import { planStaleError } from './session/problems.ts';

export interface MutationMode {
  mode: 'preview' | 'execute';
  plan?: string;
  confirmed: boolean;
  argv: readonly string[];
}

type FlagBag = Readonly<Record<string, unknown>>;

export function mutationMode(flags: FlagBag, globals: FlagBag, argv: readonly string[]): MutationMode {
  const execute = flags.execute === true;
  if (execute && flags['dry-run'] === true) {
    throw usageError('--execute and --dry-run cannot be combined.');
  }
  return {
    mode: execute ? 'execute' : 'preview',
    confirmed: globals.yes === true,
    argv,
    ...(typeof flags.plan === 'string' && { plan: flags.plan }),
  };
}

export function mutationNotices(flags: FlagBag, mode: MutationMode): string[] {
  if (mode.mode === 'execute') return [];
  return [
    ...(flags['dry-run'] === false
      ? ['--dry-run=false still previews; add --execute to make the change.']
      : []),
    ...(mode.plan !== undefined ? ['--plan has no effect without --execute.'] : []),
  ];
}

export interface MutateOptions<S extends Shape> {
  confirm?: Confirmation | undefined;
  view?: View | undefined;
  present?: ((answer: Answer<S>) => unknown) | undefined;
  deletedId?: Endpoint;
  text?: ((answer: Answer<S>, style: Style) => string) | undefined;
}

export async function mutate<S extends Shape>(
  ctx: Ctx,
  endpoint: Endpoint<S>,
  input: Input<S>,
  options: MutateOptions<S> = {},
): Promise<Result> {
  const client = await ctx.client();
  return carryOut(ctx, {
    confirm: options.confirm,
    irreversible: endpoint.irreversible,
    preview: () => client.preview(endpoint, input),
    execute: async (plan) => {
      const named = lastParam(endpoint, input);
      const deleted =
        options.deletedId === undefined || uuidPattern.test(named)
          ? named
          : ((await client.call<Shape>(options.deletedId, input as object)) as { id: string }).id;
      const answer = await client.call(endpoint, input, {
        ifPlan: plan,
        idempotencyKey: endpoint.method === 'POST' ? crypto.randomUUID() : undefined,
      });
      if (endpoint.status === 204) return { value: { deleted: true, id: deleted } };
      const { text } = options;
      return {
        value: options.present === undefined ? answer : options.present(answer),
        view: options.view,
        text: text && ((style: Style) => text(answer, style)),
      };
    },
  });
}

export interface Change {
  /** Needs a terminal or `--yes`. */
  confirm?: Confirmation | undefined;
  /** Asks on a terminal, with `sometimes` if the plan is irreversible; elsewhere `--execute` is enough. */
  irreversible?: boolean | 'sometimes' | undefined;
  preview(): Promise<Preview>;
  execute(plan: string | undefined): Promise<Result>;
}

export async function carryOut(ctx: Ctx, change: Change): Promise<Result> {
  if (ctx.mutation.mode === 'preview') return previewResult(ctx, change, await preview(change));
  // --plan does not replace the confirmation.
  const confirmed = await confirmedPlan(ctx, change);
  return change.execute(ctx.mutation.plan ?? confirmed);
}

async function preview(change: Change): Promise<Preview> {
  const answer = await change.preview();
  if (answer?.dry_run === true) return answer;
  throw new CliError('not_this_service', 'The server returned no plan for the preview.', {
    next: 'Check whether something has changed, and that svc and the server have the same version.',
  });
}

async function previewResult(ctx: Ctx, { confirm }: Change, answer: Preview): Promise<Result> {
  const { commandLine, executeArgs, renderPlan } = await import('./output/plan.ts');
  const args = executeArgs(ctx.mutation.argv, confirm && !ctx.mutation.confirmed ? ['--yes'] : []);
  const next =
    answer.plan.changes.length === 0
      ? { argv: [], why: 'There is nothing to do.' }
      : { argv: ['svc', ...args], why: 'Makes the change that the plan describes.' };
  return {
    value: { ...answer, next },
    text: (style) => renderPlan(answer.plan, commandLine(args), style),
  };
}

async function confirmedPlan(ctx: Ctx, change: Change): Promise<string | undefined> {
  if (ctx.mutation.confirmed || !(change.confirm || change.irreversible)) return undefined;
  if (!(await ctx.io.isTerminal('stdin')) || !(await ctx.io.isTerminal('stderr'))) {
    if (!change.confirm) return undefined;
    throw new CliError(
      'confirmation_required',
      'This command needs a confirmation, and there is no terminal.',
      {
        next: 'Add --yes.',
      },
    );
  }
  const { plan } = await preview(change);
  if (ctx.mutation.plan !== undefined && ctx.mutation.plan !== plan.fingerprint) throw planStaleError();
  if (plan.changes.length === 0) return plan.fingerprint;
  if (!change.confirm && change.irreversible === 'sometimes' && !plan.irreversible) return plan.fingerprint;
  const { renderChanges } = await import('./output/plan.ts');
  const { detectStyle } = await import('./output/render.ts');
  ctx.io.err(renderChanges(plan, await detectStyle(ctx.io)));
  const agreed =
    change.confirm === 'typed'
      ? await ctx.io.confirmTyped(plan.target.name, ctx.signal)
      : await ctx.io.confirm('Execute this plan?', ctx.signal);
  if (agreed) return plan.fingerprint;
  throw new CliError('confirmation_required', 'Not confirmed. Nothing has changed.');
}

function lastParam(endpoint: Endpoint, input: { params?: unknown }): string {
  const name = [...endpoint.path.matchAll(/\{(\w+)\}/g)].at(-1)?.[1] ?? '';
  const params = (input.params ?? {}) as Record<string, unknown>;
  return String(params[name] ?? '');
}
