import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChainHead } from './audit.ts';

/**
 * Heads of the audit chains, kept outside the database: who can edit the database and rebuild a whole chain can not
 * make it agree with these. One line per change; only the newest of each tenant is needed, so the file is cut
 * down now and then.
 */
export function anchorsFile(dataDir: string): string {
  return join(dataDir, 'audit-anchors.jsonl');
}

const appendsBetweenCuts = 1_000;

/** Writes heads down for one server; both the append and the cut are done before anything else can run. */
export function keepAnchors(file: string): (head: ChainHead) => void {
  compactAnchors(file);
  let appends = 0;
  return (head) => {
    appendAnchor(file, head);
    if (++appends % appendsBetweenCuts === 0) compactAnchors(file);
  };
}

export function appendAnchor(file: string, head: ChainHead): void {
  const { tenantId, seq, hash } = head;
  appendFileSync(file, `${JSON.stringify({ tenantId, seq, hash })}\n`, { mode: 0o600 });
}

export function readAnchors(file: string): ChainHead[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .flatMap((line) => parsed(line) ?? []);
}

export function compactAnchors(file: string): void {
  const newest = new Map<string, ChainHead>();
  for (const anchor of readAnchors(file)) {
    const known = newest.get(anchor.tenantId);
    if (!known || anchor.seq >= known.seq) newest.set(anchor.tenantId, anchor);
  }
  if (newest.size === 0) return;
  const next = `${file}.next`;
  writeFileSync(next, [...newest.values()].map((head) => `${JSON.stringify(head)}\n`).join(''), {
    mode: 0o600,
  });
  renameSync(next, file);
}

/** The last line may be cut short by a crash; the chain itself still holds what it would have said. */
function parsed(line: string): ChainHead | null {
  try {
    return JSON.parse(line) as ChainHead;
  } catch {
    return null;
  }
}
