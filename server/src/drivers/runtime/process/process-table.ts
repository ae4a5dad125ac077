import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessRow {
  pid: number;
  parent: number;
  group: number;
  session: number;
  /** Its own and that of children that have ended. */
  cpuMs: number;
  residentBytes: number;
}

// What Linux tells programs, on every architecture that we run on.
const ticksPerSecond = 100;
const pageBytes = 4096;

/** Everything that runs, as Linux tells it; empty elsewhere. What has ended and waits to be noticed is left out. */
export function readProcessTable(): ProcessRow[] {
  return pids().flatMap((pid) => readRow(pid) ?? []);
}

function pids(): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

function readRow(pid: number): ProcessRow | null {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The name stands in brackets and may itself hold spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return null;
  const number = (at: number) => Number(fields[at]);
  return {
    pid,
    parent: number(1),
    group: number(2),
    session: number(3),
    cpuMs: ((number(11) + number(12) + number(13) + number(14)) * 1000) / ticksPerSecond,
    residentBytes: number(21) * pageBytes,
  };
}

/** Those of a session and what they started, also where that has left the session. */
export function treeOf(leader: number, table: readonly ProcessRow[]): ProcessRow[] {
  const found = new Set(table.filter(({ pid, session }) => pid === leader || session === leader));
  const known = new Set([...found].map(({ pid }) => pid));
  for (let before = -1; before !== known.size; ) {
    before = known.size;
    for (const row of table) {
      if (known.has(row.pid) || !known.has(row.parent)) continue;
      known.add(row.pid);
      found.add(row);
    }
  }
  return [...found];
}

/** With memory that is shared counted in parts; slower to tell than what is resident. */
export function proportionalBytes(rows: readonly ProcessRow[]): number {
  return rows.reduce((sum, { pid, residentBytes }) => {
    const kilobytes = /^Pss:\s+(\d+) kB/m.exec(readText(`/proc/${pid}/smaps_rollup`) ?? '')?.[1];
    return sum + (kilobytes === undefined ? residentBytes : Number(kilobytes) * 1024);
  }, 0);
}

/** As its status has it: the owner of its folder in /proc is something a process can change. */
export function userOf(pid: number): number | null {
  const uid = /^Uid:\t(\d+)/m.exec(readText(`/proc/${pid}/status`) ?? '')?.[1];
  return uid === undefined ? null : Number(uid);
}

/** As the process was started with it: what it changed since is not seen. */
export function wasStartedWith(pid: number, variable: string): boolean {
  return (readText(`/proc/${pid}/environ`) ?? '').split('\0').includes(variable);
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // It has ended meanwhile, or is another's.
    return null;
  }
}
