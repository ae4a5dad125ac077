import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Db } from '../plumbing/db.ts';
import { isUuid } from '../plumbing/ref.ts';

/** Folders of deployments that nobody works on: a copy of the server that died could not remove them. */
export async function removeOldWork(db: Db, workDir: string): Promise<void> {
  const there = (await readdir(workDir)).filter(isUuid);
  if (there.length === 0) return;
  const { rows } = await sql<{ id: string }>`
    select id from svc.deployments where id = any(${there}) and ended_at is null and lease_until > now()`.execute(
    db,
  );
  const held = new Set(rows.map(({ id }) => id));
  for (const id of there) if (!held.has(id)) await rm(join(workDir, id), { recursive: true, force: true });
}
