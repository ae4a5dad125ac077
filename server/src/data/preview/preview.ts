import type { AccessPreview, previewAccess as shape } from '@svc/contract/access-preview.shapes.ts';
import type { z } from 'zod';
import { canDecideFor } from '../../access/connectors/access-settings.ts';
import { findConnectorRow } from '../../access/connectors/connectors.ts';
import type { AccessLog } from '../../access/log/access-log.ts';
import { findAppOfTenant } from '../../apps/record/find-app.ts';
import { type Caller, ownsApp, type TenantCtx } from '../../core/context.ts';
import { Failure, fail, validationError } from '../../core/problem.ts';
import { findMember } from '../../people/tenants/members.ts';
import { recordPreview } from '../inspection/inspection.ts';
import { createRecordRead } from '../rows/governed-read.ts';
import { isTableOutdated } from '../rows/row-errors.ts';
import {
  describeActions,
  describeChanges,
  describeColumns,
  describeFilter,
  describeSources,
} from './describe.ts';
import { isClosed, requireVisibleApp } from './own-access.ts';
import { closedReason, emptyReason, type Person, type Reason, suspendedReason } from './reasons.ts';
import {
  type PreviewDeps,
  type Resolved,
  resolveTarget,
  type Target,
  targetLabel,
  triedWords,
  withPolicy,
} from './resolve.ts';
import { countRows, readSample, shareTable, wholeTable } from './sample.ts';

function summarize(
  preview: Omit<z.output<typeof AccessPreview>, 'text'>,
  { person, changes }: { person: Person; changes: readonly string[] },
): string {
  const { reason, next, rows, filter, resource, columns } = preview;
  if (reason !== null) return [reason, next].filter(Boolean).join(' ');
  const who = person.isSelf ? 'You see' : `${person.email} sees`;
  const isAll = filter === 'all rows';
  const amount = rows.all === null ? rowWords(rows.visible ?? 0) : shareWords(rows.visible, rows.all, isAll);
  const sentences = [`${who} ${amount} of ${resource}${isAll ? '' : `: those where ${filter}`}.`];
  const listLimits = (access: 'masked' | 'hidden') =>
    columns.filter((column) => column.access === access).map(({ name, text }) => `“${name}” is ${text}`);
  const limits = [...listLimits('masked'), ...listLimits('hidden')];
  sentences.push(limits.length === 0 ? 'No column is masked or hidden.' : `Columns: ${limits.join('; ')}.`);
  const they = person.isSelf ? 'You' : 'They';
  sentences.push(
    changes.length === 0
      ? `${they} cannot change or export rows.`
      : `${they} can also ${changes.join('; ')}.`,
  );
  return sentences.join(' ');
}

const rowWords = (count: number) => `${count} ${count === 1 ? 'row' : 'rows'}`;

function shareWords(visible: number | null, all: number, isAll: boolean): string {
  if (!isAll) return `${visible} of ${rowWords(all)}`;
  return all === 1 ? 'the only row' : `all ${rowWords(all)}`;
}

type Input = z.output<typeof shape.body>;
type Answer = z.output<typeof shape.answer>;
type Member = NonNullable<Awaited<ReturnType<typeof findMember>>>;

export async function previewAccess(
  ctx: TenantCtx,
  input: Input,
  deps: PreviewDeps & { accessLog: AccessLog },
): Promise<Answer> {
  const isSelf = isOwn(ctx, input);
  if (input.policy && ctx.tenant.role !== 'tenant_admin')
    throw fail('forbidden', { detail: 'Only admins can try a policy.' });
  const { target, isPrivileged } = await authorizeTarget(ctx, input, isSelf);
  const member = await findMember(ctx.db, ctx.tenant.id, isSelf ? ctx.caller.userId : (input.as ?? ''));
  if (!member) throw validationError('as', 'is not a member of this tenant', 'unknown_subject');
  const person: Person = { isSelf, email: member.email, userId: member.userId };
  const resolved = await resolvePerson(ctx, { input, target, member, person, isPrivileged }, deps);
  if (!isPrivileged && isClosed(resolved, target)) {
    await requireVisibleApp(ctx.db, { ...ctx, target });
    const closed = { ...resolved, catalogue: null, reason: closedReason(targetLabel(target)) };
    return describe(ctx, { input, target, person, resolved: closed, isPrivileged }, deps);
  }
  return describe(ctx, { input, target, person, resolved, isPrivileged }, deps);
}

function isOwn({ caller }: TenantCtx, { as }: Input): boolean {
  return as === undefined || [caller.userId, caller.email.toLowerCase()].includes(as.toLowerCase());
}

/** Checked before the person is looked up: others must not learn who is a member. */
async function authorizeTarget(ctx: TenantCtx, input: Input, isSelf: boolean) {
  const { connector: ref, resource_path: path, app: appRef, table } = input;
  const isAdmin = ctx.tenant.role === 'tenant_admin';
  const refusedError = () =>
    fail('forbidden', { detail: 'Only admins and owners can preview the access of others.' });
  if (ref !== undefined && appRef === undefined && path !== undefined && table === undefined) {
    const [schema = '', name = '', ...more] = path.split('/');
    if (schema === '' || name === '' || more.length > 0)
      throw validationError('resource_path', 'must be schema/table');
    const connector = await findConnectorRow(ctx.db, ctx.tenant.id, ref);
    const isPrivileged = connector ? canDecideFor(ctx, connector) : isAdmin;
    if (!isSelf && !isPrivileged) throw refusedError();
    if (!connector) throw fail('not_found', { detail: `There is no connector ${ref}.` });
    return { target: { kind: 'connector', connector, schema, table: name } as const, isPrivileged };
  }
  if (appRef === undefined || table === undefined || ref !== undefined || path !== undefined)
    throw validationError('connector', 'name connector and resource_path, or app and table');
  const app = await findAppOfTenant(ctx.db, ctx.tenant.id, { ref: appRef, userId: ctx.caller.userId });
  const isOwner = !!app && ownsApp(app.relation);
  if (!isSelf && !isOwner && !isAdmin) throw refusedError();
  if (!app) throw fail('not_found');
  if (!isSelf && !isOwner)
    await recordPreview(ctx, { app, reason: `Preview of the access of ${input.as} to ${table}` });
  return { target: { kind: 'app', app, table } as const, isPrivileged: isOwner || !isSelf };
}

interface Resolving {
  input: Input;
  target: Target;
  member: Member;
  person: Person;
  isPrivileged: boolean;
}

async function resolvePerson(
  ctx: TenantCtx,
  { input, target, member, person, isPrivileged }: Resolving,
  deps: PreviewDeps,
): Promise<PersonAccess> {
  const throughApp = target.kind === 'app' && input.via === 'app' ? target.app.id : undefined;
  const caller: Caller = {
    kind: 'login',
    userId: member.userId,
    email: member.email,
    name: '',
    credentialId: '',
    expiresAt: ctx.now,
    ...(throughApp !== undefined && { throughApp }),
  };
  const subject = { tenant: { ...ctx.tenant, role: member.role }, caller, person, knowsTables: isPrivileged };
  const { policy } = input;
  const found: PersonAccess = policy
    ? await withPolicy(ctx, { policy, userId: member.userId }, async (db, tried) => {
        const resolved = await resolveTarget({ ...deps, db }, target, { ...subject, tried });
        return { ...resolved, tried: triedWords(tried, { target, person, value: resolved.value }) };
      })
    : await resolveTarget(deps, target, subject);
  if (member.status === 'active') return found;
  return { ...found, value: null, reason: suspendedReason(person, member.status) };
}

interface PersonAccess extends Resolved {
  tried?: string;
}

interface Described extends Omit<Resolving, 'member'> {
  resolved: PersonAccess;
}

async function describe(
  ctx: TenantCtx,
  { input, target, person, resolved, isPrivileged }: Described,
  deps: PreviewDeps & { accessLog: AccessLog },
): Promise<Answer> {
  const { value, catalogue, rowDb, presets } = resolved;
  const names = new Map([[person.userId, person.isSelf ? 'you' : person.email]]);
  const disclosure = { isFull: isPrivileged, table: target.table, names, presets };
  const label = targetLabel(target);
  const isReader = !!value?.access.actions.has('read');
  const filter = describeFilter(value, disclosure);
  let { reason } = resolved;
  const rows: Answer['rows'] = { visible: isReader ? null : 0, all: null };
  let sample: Sample = { sample: [], sample_withheld: null, withheld_columns: [] };
  try {
    if (catalogue && rowDb) {
      if (isPrivileged) rows.all = await countRows(rowDb, wholeTable(catalogue));
      if (value && isReader) {
        rows.visible = await countRows(rowDb, value.table);
        if (rows.visible > 0)
          sample = await sampleFor(ctx, { input, target, person, resolved }, deps).catch(withholdLarge);
      }
    }
    reason ??= emptyReason(person, { filter, rows, label, value });
  } catch (error) {
    reason = unreadableReason(error, target);
  }
  if (value?.governed && isReader)
    createRecordRead(deps.accessLog, value, { caller: ctx.caller, info: ctx })({
      action: 'preview',
      table: value.table,
      output: value.table.all,
      rows: sample.sample.length,
    });
  const columns = catalogue && isReader ? describeColumns(catalogue, value, disclosure) : [];
  const answer = {
    subject: { id: person.userId, email: person.email },
    resource: label,
    actions: describeActions(value),
    columns,
    filter,
    because: describeSources(value, disclosure),
    rows,
    ...sample,
    reason: reason?.reason ?? null,
    next: reason?.next ?? null,
  };
  const text = summarize(answer, { person, changes: describeChanges(value, disclosure) });
  return { ...answer, text: [resolved.tried, text].filter(Boolean).join(' ') };
}

function unreadableReason(error: unknown, target: Target): Reason {
  if (target.kind === 'app' || !(error instanceof Failure || isTableOutdated(error))) throw error;
  const { slug } = target.connector;
  return error instanceof Failure
    ? {
        reason: `The rows of ${slug} cannot be read now: ${error.detail ?? error.message}`,
        next: `Test the connection with: svc connectors test ${slug}`,
      }
    : {
        reason: `The database behind ${slug} has changed since its schema was read.`,
        next: `Read it again with: svc connectors schema refresh ${slug}`,
      };
}

type Sample = Pick<Answer, 'sample' | 'sample_withheld' | 'withheld_columns'>;

const withhold = (text: string): Sample => ({ sample: [], sample_withheld: text, withheld_columns: [] });

function withholdLarge(error: unknown): Sample {
  if (!(error instanceof Failure) || error.code !== 'payload_too_large') throw error;
  return withhold(`Rows are not shown. ${error.detail}`);
}

/** Only rows and values that the caller may see too, by their own access and without the tried policy. */
async function sampleFor(
  ctx: TenantCtx,
  { input, target, person, resolved: { value, rowDb } }: Omit<Described, 'isPrivileged'>,
  deps: PreviewDeps,
): Promise<Sample> {
  if (!value || !rowDb) return withhold('There is nothing to show.');
  if (person.isSelf && !input.policy)
    return { sample: await readSample(rowDb, value.table), sample_withheld: null, withheld_columns: [] };
  const { caller, tenant } = ctx;
  const self = { isSelf: true, userId: caller.userId, email: caller.email };
  const own = (await resolveTarget(deps, target, { tenant, caller, person: self })).value;
  if (!own?.access.actions.has('read'))
    return withhold('Rows are not shown, because you have no access to them yourself.');
  const shared = shareTable(value.table, own.table);
  if (!shared)
    return withhold('Rows are not shown, because the filter compares columns that you cannot see yourself.');
  const { withheldColumns } = shared;
  return {
    sample: await readSample(rowDb, shared.table),
    sample_withheld:
      withheldColumns.length > 0
        ? `Not shown, because you cannot see it yourself: ${withheldColumns.join(', ')}.`
        : null,
    withheld_columns: withheldColumns,
  };
}
