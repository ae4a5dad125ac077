export interface DiffLine {
  kind: 'same' | 'added' | 'removed';
  text: string;
  before: number | null;
  after: number | null;
}

type DiffPart = { kind: 'hidden'; lines: number } | { kind: 'shown'; lines: DiffLine[] };

/** With more differences the texts are shown one after the other: a minimal diff would take too long. */
const editsMax = 600;

/** A minimal line diff (Myers, 1986). */
export function diffLines(before: string, after: string): DiffLine[] {
  const [one, other] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < one.length && start < other.length && one[start] === other[start]) start += 1;
  let [endOne, endOther] = [one.length, other.length];
  while (endOne > start && endOther > start && one[endOne - 1] === other[endOther - 1]) {
    endOne -= 1;
    endOther -= 1;
  }
  const edits = editsBetween(one.slice(start, endOne), other.slice(start, endOther));
  const kinds: DiffLine['kind'][] = [
    ...Array<'same'>(start).fill('same'),
    ...edits,
    ...Array<'same'>(one.length - endOne).fill('same'),
  ];
  let [atOne, atOther] = [0, 0];
  return kinds.map((kind) => {
    const text = (kind === 'added' ? other[atOther] : one[atOne]) ?? '';
    const line = {
      kind,
      text,
      before: kind === 'added' ? null : ++atOne,
      after: kind === 'removed' ? null : ++atOther,
    };
    return line;
  });
}

export function foldSame(lines: readonly DiffLine[], around = 3): DiffPart[] {
  const isNear = lines.map(() => false);
  lines.forEach(({ kind }, at) => {
    if (kind === 'same') return;
    const end = Math.min(lines.length - 1, at + around);
    for (let near = Math.max(0, at - around); near <= end; near += 1) isNear[near] = true;
  });
  const parts: DiffPart[] = [];
  lines.forEach((line, at) => {
    const last = parts.at(-1);
    if (isNear[at]) {
      if (last?.kind === 'shown') last.lines.push(line);
      else parts.push({ kind: 'shown', lines: [line] });
    } else if (last?.kind === 'hidden') last.lines += 1;
    else parts.push({ kind: 'hidden', lines: 1 });
  });
  return parts;
}

function linesOf(text: string): string[] {
  if (text === '') return [];
  return text.replace(/\r?\n$/, '').split(/\r?\n/);
}

function editsBetween(one: readonly string[], other: readonly string[]): DiffLine['kind'][] {
  const trace = pathsThrough(one, other);
  if (trace === null) return [...one.map(() => 'removed' as const), ...other.map(() => 'added' as const)];
  const kinds: DiffLine['kind'][] = [];
  let [x, y] = [one.length, other.length];
  for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
    const furthest = trace[edits] ?? new Map();
    const diagonal = x - y;
    const isDown = goesDown(furthest, diagonal, edits);
    const from = isDown ? diagonal + 1 : diagonal - 1;
    const fromX = edits === 0 ? 0 : (furthest.get(from) ?? 0);
    const fromY = edits === 0 ? 0 : fromX - from;
    while (x > fromX && y > fromY && one[x - 1] === other[y - 1]) {
      kinds.push('same');
      x -= 1;
      y -= 1;
    }
    if (edits > 0) kinds.push(isDown ? 'added' : 'removed');
    [x, y] = [fromX, fromY];
  }
  return kinds.reverse();
}

function pathsThrough(one: readonly string[], other: readonly string[]): Map<number, number>[] | null {
  const furthest = new Map<number, number>([[1, 0]]);
  const trace: Map<number, number>[] = [];
  for (let edits = 0; edits <= one.length + other.length; edits += 1) {
    if (edits > editsMax) return null;
    trace.push(new Map(furthest));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = goesDown(furthest, diagonal, edits)
        ? (furthest.get(diagonal + 1) ?? 0)
        : (furthest.get(diagonal - 1) ?? 0) + 1;
      while (x < one.length && x - diagonal < other.length && one[x] === other[x - diagonal]) x += 1;
      furthest.set(diagonal, x);
      if (x >= one.length && x - diagonal >= other.length) return trace;
    }
  }
  return trace;
}

function goesDown(furthest: ReadonlyMap<number, number>, diagonal: number, edits: number): boolean {
  if (diagonal === -edits) return true;
  return diagonal !== edits && (furthest.get(diagonal - 1) ?? -1) < (furthest.get(diagonal + 1) ?? -1);
}
