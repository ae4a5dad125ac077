import type { Args, Declaration, Flags, Positional } from '@svc/cli/framework/declaration.ts';
import { tableLines } from '@svc/cli/framework/layout.ts';
import { cellText } from '@svc/cli/framework/text.ts';
import type { Config } from '../config.ts';
import type { OperatorDeps } from '../core/mutation.ts';
import type { Database } from '../drivers/database/database.ts';

export interface AdminIo {
  out(text: string): void;
  err(text: string): void;
  stdin(): Promise<string>;
  stdinLines(): AsyncIterable<string>;
  /** Throws a ConfigError; read when first needed, so that help works with any environment. */
  config(): Config;
  onInterrupt(undo: () => void): () => void;
}

export interface AdminCtx extends AdminIo {
  note(line: string): void;
  say(text: string): void;
  runLine(argv: readonly string[], batch: BatchSystem): Promise<Result>;
  batch?: BatchSystem;
}

export interface System extends OperatorDeps {
  database: Database;
}

export interface BatchSystem {
  system: System | null;
  close(): Promise<void>;
}

export interface Result {
  json: Record<string, unknown>;
  text: string;
  exit?: number;
}

export interface AdminCommand<
  F extends Flags = Flags,
  P extends readonly Positional[] = readonly Positional[],
> extends Declaration<F, P> {
  load(): Promise<(ctx: AdminCtx, args: Args<F, P>) => Promise<Result>>;
}

export function declare<
  const F extends Flags = Record<never, never>,
  const P extends readonly Positional[] = readonly [],
>(declared: Omit<AdminCommand<F, P>, 'kind'>): AdminCommand {
  return { kind: 'local', ...declared } as unknown as AdminCommand;
}

export const backupParts = ['objects', 'raw-databases'] as const;
export type BackupPart = (typeof backupParts)[number];

export function listResult(columns: readonly string[], items: readonly object[]): Result {
  const grid = {
    titles: columns.map((column) => column.replaceAll('_', ' ').toUpperCase()),
    keep: columns.map(() => true),
    rows: items.map((item) => columns.map((column) => cellText(Reflect.get(item, column)))),
  };
  const lines = tableLines(grid, { width: null, colour: false, unicode: true }) ?? [];
  return { json: { items, total: items.length }, text: `${lines.join('\n')}\n` };
}
