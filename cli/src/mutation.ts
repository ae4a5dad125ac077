import type { Answer, Endpoint, Input, Shape } from '@svc/contract/endpoint.ts';
import type { Preview } from '@svc/contract/plan.ts';
import type { Confirmation, Result, Style, View } from './command.ts';
import type { Ctx } from './context.ts';
import { CliError, planStale, usage } from './errors.ts';

/**
 * Preview or execute: the one place that reads `--execute`, `--dry-run`, `--plan` and `--yes`. A command only says
 * what it would send.
 */
export interface MutationMode {
  mode: 'preview' | 'execute';
  plan?: string;
  confirmed: boolean;
  /** The line as typed, to show how to execute it. */
  argv: readonly string[];
}

type FlagBag = Readonly<Record<string, unknown>>;

/** Judged before any request. */
export function mutationMode(flags: FlagBag, globals: FlagBag, argv: readonly string[]): MutationMode {
  const execute = flags.execute === true;
  if (execute && flags['dry-run'] === true) {
    throw usage('--execute and --dry-run exclude each other; leave one of them out.');
  }
  return {
    mode: execute ? 'execute' : 'preview',
    confirmed: globals.yes === true,
    argv,
    ...(typeof flags.plan === 'string' && { plan: flags.plan }),
  };
}

/** Flags that were given and change nothing. */
export function mutationNotices(flags: FlagBag, mode: MutationMode): string[] {
  if (mode.mode === 'execute') return [];
  return [
    ...(flags['dry-run'] === false
      ? ['--dry-run=false alone still previews; add --execute to make the change.']
      : []),
    ...(mode.plan !== undefined ? ['--plan only counts together with --execute.'] : []),
  ];
}

export interface MutateOptions<S extends Shape> {
  confirm?: Confirmation | undefined;
  view?: View | undefined;
  present?: ((answer: Answer<S>) => unknown) | undefined;
  /** In place of what the path names. */
  deletedId?: (() => Promise<string>) | undefined;
  /** What people see of an execution. */
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
    preview: () => client.preview(endpoint, input, { signal: ctx.signal }),
    execute: async (plan) => {
      const deleted = (await options.deletedId?.()) ?? lastParam(endpoint, input);
      const answer = await client.call(endpoint, input, {
        signal: ctx.signal,
        ...(plan !== undefined && { ifPlan: plan }),
        ...(endpoint.method === 'POST' && { idempotencyKey: crypto.randomUUID() }),
      });
      if (endpoint.status === 204) return { value: { deleted: true, id: deleted } };
      const { text } = options;
      return {
        value: options.present === undefined ? answer : options.present(answer),
        ...(options.view && { view: options.view }),
        ...(text && { text: (style: Style) => text(answer, style) }),
      };
    },
  });
}

/** A change by other means than one endpoint of the contract. */
export interface Change {
  confirm?: Confirmation | undefined;
  preview(): Promise<Preview>;
  /** With the plan that must still hold, if one was named. */
  execute(plan: string | undefined): Promise<Result>;
}

export async function carryOut(ctx: Ctx, change: Change): Promise<Result> {
  if (ctx.mutation.mode === 'preview') return previewResult(ctx, change, await preview(change));
  // A plan that was named says what is meant, not that a person agrees.
  const confirmed = await confirmedPlan(ctx, change);
  return change.execute(ctx.mutation.plan ?? confirmed);
}

async function preview(change: Change): Promise<Preview> {
  const answer = await change.preview();
  if (answer?.dry_run === true) return answer;
  throw new CliError('not_this_service', 'The server did not answer the preview with a plan.', {
    next: 'Check whether something was changed, and whether the server is of the same version as svc.',
  });
}

async function previewResult(ctx: Ctx, { confirm }: Change, answer: Preview): Promise<Result> {
  const { executeLine, renderPlan } = await import('./plan-text.ts');
  const line = executeLine(ctx.mutation.argv, confirm && !ctx.mutation.confirmed ? ['--yes'] : []);
  return { value: answer, text: (style) => renderPlan(answer.plan, line, style) };
}

/** Shows the plan, asks, and binds the execution to what was shown. */
async function confirmedPlan(ctx: Ctx, change: Change): Promise<string | undefined> {
  if (!change.confirm || ctx.mutation.confirmed) return undefined;
  if (!(await ctx.io.isTerminal('stdin')) || !(await ctx.io.isTerminal('stderr'))) {
    throw new CliError(
      'confirmation_required',
      'This must be confirmed, and there is no terminal to ask on.',
      {
        next: 'Add --yes.',
      },
    );
  }
  const { plan } = await preview(change);
  if (ctx.mutation.plan !== undefined && ctx.mutation.plan !== plan.fingerprint) throw planStale();
  // Where there is nothing to lose there is nothing to ask.
  if (plan.changes.length === 0) return plan.fingerprint;
  const { renderChanges } = await import('./plan-text.ts');
  const { styleOf } = await import('./output.ts');
  ctx.io.err(renderChanges(plan, await styleOf(ctx.io)));
  const agreed =
    change.confirm === 'typed'
      ? await ctx.io.confirmTyped(plan.target.name, ctx.signal)
      : await ctx.io.confirm('Execute this?', ctx.signal);
  if (agreed) return plan.fingerprint;
  throw new CliError('confirmation_required', 'Not confirmed; nothing was changed.');
}

function lastParam(endpoint: Endpoint, input: { params?: unknown }): string {
  const name = [...endpoint.path.matchAll(/\{(\w+)\}/g)].at(-1)?.[1] ?? '';
  const params = (input.params ?? {}) as Record<string, unknown>;
  return String(params[name] ?? '');
}
