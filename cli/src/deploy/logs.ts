import { getApp } from '@svc/contract/apps.ts';
import type { LogLine } from '@svc/contract/deployments.shapes.ts';
import {
  logLinesPerPageMax,
  logWaitSecondsMax,
  readAppLog,
  readBuildLog,
} from '@svc/contract/deployments.ts';
import { readReviewLog } from '@svc/contract/review.ts';
import { readRunLog } from '@svc/contract/runs.ts';
import type { z } from 'zod';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../framework/errors.ts';
import { type Style, sanitize, tint } from '../framework/text.ts';
import { detectStyle } from '../output/render.ts';
import { isTransient, pause, withTimeout } from '../session/waiting.ts';

export async function showLog(ctx: Ctx, source: LogSource, tail: number | undefined): Promise<Result> {
  const lines: LogEntry[] = [];
  for await (const some of logLines(ctx, source, { tail, until: 'there' })) lines.push(...some);
  if (lines.length === 0) ctx.note((await noLogReason(ctx, source)) ?? 'The log is empty.');
  return { value: lines, text: (style) => lines.map((line) => logLineText(line, style)).join('') };
}

export async function followLog(ctx: Ctx, source: LogSource, tail: number | undefined): Promise<Result> {
  const render = await lineRenderer(ctx);
  const onNothing = async () => {
    const why = await noLogReason(ctx, source);
    if (why !== null) ctx.say(why);
  };
  try {
    for await (const some of logLines(ctx, source, { tail, until: 'ended', onNothing }))
      await ctx.io.out(some.map(render).join(''));
  } catch (cause) {
    // Ctrl-C is the normal end.
    if (cause instanceof CliError && cause.code === 'interrupted')
      return { value: [], printed: true, exit: 130 };
    if (cause instanceof CliError && cause.code === 'timeout' && ctx.signal.aborted)
      return { value: [], printed: true, failed: followTimeoutError(ctx) };
    throw cause;
  }
  return { value: [], printed: true };
}

function followTimeoutError(ctx: Ctx): CliError {
  const detail = `Stopped following after ${ctx.globals.timeoutMs / 1000}s.`;
  return new CliError('wait_timeout', detail, { next: 'Use a longer --timeout.' });
}

async function lineRenderer(ctx: Ctx): Promise<(line: LogEntry) => string> {
  switch (ctx.globals.format) {
    case 'json':
    case 'jsonl':
      return (line) => `${JSON.stringify(line)}\n`;
    case 'yaml': {
      const { stringify } = await import('yaml');
      return (line) => stringify([line]);
    }
    case 'csv': {
      const { csvRecord } = await import('@svc/contract/csv.ts');
      return (line) => csvRecord(Object.values(line).map((value) => (value === null ? null : String(value))));
    }
    case 'table': {
      const style = await detectStyle(ctx.io);
      return (line) => logLineText(line, style);
    }
  }
}

export type LogEntry = z.output<typeof LogLine>;

export type LogSource =
  | { log: 'build'; tenantID: string; app: string; deployment: string }
  | {
      log: 'app';
      tenantID: string;
      app: string;
      deployment: string | undefined;
      process: string | undefined;
    }
  | { log: 'run'; tenantID: string; app: string; run: string }
  | { log: 'review'; tenantID: string; request: string };

export interface LogOptions {
  tail: number | undefined;
  until: 'there' | 'ended';
  onNothing?: () => Promise<void>;
}

/** Must exceed the server's own wait, `logWaitSecondsMax`. */
const requestMsMax = (logWaitSecondsMax + 20) * 1_000;
const pauseMs = 1_000;

export async function* logLines(
  ctx: Ctx,
  source: LogSource,
  options: LogOptions,
): AsyncGenerator<LogEntry[]> {
  const { tail, until } = options;
  let cursor: string | undefined;
  for (;;) {
    const isFirst = cursor === undefined;
    const page = await readPage(ctx, source, {
      cursor,
      tail: isFirst ? tail : undefined,
      limit: logLinesPerPageMax,
      ...(until === 'ended' && !isFirst && { wait_seconds: logWaitSecondsMax }),
    }).catch((cause: unknown) => {
      if (ctx.signal.aborted) throw ctx.signal.reason;
      if (until === 'there' || isFirst || !isTransient(cause)) throw cause;
      return null;
    });
    if (page === null) {
      await pause(ctx, pauseMs);
      continue;
    }
    if (page.items.length > 0) yield page.items;
    else if (isFirst) await options.onNothing?.();
    if (page.ended) return;
    if (until === 'there' && (page.items.length < logLinesPerPageMax || (isFirst && tail !== undefined)))
      return;
    cursor = page.next_cursor;
  }
}

interface Query {
  cursor: string | undefined;
  tail: number | undefined;
  limit: number;
  wait_seconds?: number;
}

async function readPage(ctx: Ctx, source: LogSource, query: Query) {
  const client = await ctx.client();
  const { signal } = withTimeout(ctx, requestMsMax);
  const { tenantID } = source;
  switch (source.log) {
    case 'build': {
      const { app, deployment } = source;
      return client.call(readBuildLog, { params: { tenantID, app, deployment }, query }, { signal });
    }
    case 'run': {
      const { app, run } = source;
      return client.call(readRunLog, { params: { tenantID, app, run }, query }, { signal });
    }
    case 'app': {
      const { app, deployment } = source;
      return client.call(
        readAppLog,
        { params: { tenantID, app }, query: { ...query, deployment, process: source.process } },
        { signal },
      );
    }
    case 'review':
      return client.call(readReviewLog, { params: { tenantID, request: source.request }, query }, { signal });
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: matches color codes.
const colours = /(\u001b\[[0-9;:]*m)/;

/** Lines are written by apps: of the terminal escape codes only colors are kept. */
export function safeText(text: string, style: Style): string {
  const content = text
    .split(colours)
    .map((part, at) => (at % 2 === 0 ? sanitize(part.replaceAll('\t', '    ')) : style.colour ? part : ''))
    .join('');
  return style.colour && content.includes('\u001b') ? `${content}\u001b[0m` : content;
}

export function logLineText({ time, stream, process, deployment, text }: LogEntry, style: Style): string {
  const content = safeText(text, style);
  const body = stream === 'platform' ? tint(style, 'dim', content) : content;
  // While versions change, both write to the log of the app.
  const version = process === null || !deployment ? [] : [`#${deployment}`];
  const names = [...version, ...(!process || process === 'web' ? [] : [`[${process}]`])];
  const from = names.map((name) => `${tint(style, 'dim', name)} `).join('');
  return `${tint(style, 'dim', `${time.slice(0, 19)}Z`)} ${from}${body}\n`;
}

export async function noLogReason(ctx: Ctx, source: LogSource): Promise<string | null> {
  if (source.log !== 'app') return null;
  const params = { tenantID: source.tenantID, app: source.app };
  const app = await (await ctx.client()).call(getApp, { params });
  const slug = sanitize(app.slug);
  if (app.deploy_method === 'static')
    return `${slug} is a static site without a running process. Next: svc deployments list --app ${slug} shows its builds, svc deployments logs <id> --app ${slug} the log of one.`;
  if (app.deployment_status === 'draft')
    return `${slug} has never been deployed. Next: svc deploy --app ${slug} --from-dir . --execute`;
  return null;
}
