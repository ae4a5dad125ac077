import type { AdminCtx, Result } from '../command.ts'; export async function run(_ctx: AdminCtx): Promise<Result> { throw new Error('not yet'); }
