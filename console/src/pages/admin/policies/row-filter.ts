import { conditionsMax, type FilterOp, groupDepthMax, isKeywords } from '@svc/contract/rows.ts';

/** A row filter as it is built: groups of tests. What it looks like as text is `print-row-filter.ts`'s to say. */
export type FilterPart = FilterTest | FilterGroup;

export interface FilterTest {
  kind: 'test';
  /** Tells parts apart while they are edited. */
  key: number;
  column: string;
  negated: boolean;
  op: FilterOp;
  /** One value; of `in` any number, of `between` two. */
  values: string[];
}

export interface FilterGroup {
  kind: 'and' | 'or';
  key: number;
  negated: boolean;
  parts: FilterPart[];
}

let lastKey = 0;

export function newTest(given: Partial<Omit<FilterTest, 'kind' | 'key'>> = {}): FilterTest {
  return { kind: 'test', key: ++lastKey, column: '', negated: false, op: 'eq', values: [''], ...given };
}

export function newGroup(kind: FilterGroup['kind'], parts: FilterPart[], negated = false): FilterGroup {
  return { kind, key: ++lastKey, negated, parts };
}

/** What its values become when a test gets another operator: what still fits stays. */
export function withOp(test: FilterTest, op: FilterOp): FilterTest {
  const [first = '', second = ''] = test.values;
  if (op === 'in') return { ...test, op, values: test.values.filter((value) => value !== '') };
  if (op === 'between') return { ...test, op, values: [first, second] };
  if (op === 'is') return { ...test, op, values: [isKeywords.find((word) => word === first) ?? 'null'] };
  return { ...test, op, values: [first] };
}

/** Why it is no filter yet; null when it is one, or empty. */
export function faultOf(root: FilterGroup): string | null {
  if (root.parts.length === 0) return null;
  if (countTests(root) > conditionsMax) return `A filter has at most ${conditionsMax} conditions.`;
  return faultIn(root, root.kind === 'and' && !root.negated ? 0 : 1);
}

function faultIn(group: FilterGroup, depth: number): string | null {
  if (depth > groupDepthMax) return `Groups are nested at most ${groupDepthMax} deep.`;
  if (group.parts.length === 0) return 'A group holds no condition. Add one, or remove the group.';
  for (const part of group.parts) {
    const fault = part.kind === 'test' ? faultOfTest(part, depth) : faultIn(part, depth + 1);
    if (fault !== null) return fault;
  }
  return null;
}

function faultOfTest({ column, op, values }: FilterTest, depth: number): string | null {
  if (column === '') return 'A condition names no column.';
  if (column.includes('=')) return `A filter can not name the column ${column}: it holds a “=”.`;
  if (depth > 0 && /[.,()"]/.test(column))
    return `A group can not name the column ${column}: it holds one of . , ( ) ".`;
  if (op === 'in' && values.length === 0) return `The list for ${column} is empty: it would match nothing.`;
  if (op === 'between' && values.some((value) => value === ''))
    return `Between takes two values for ${column}.`;
  return null;
}

export function countTests(part: FilterPart): number {
  return part.kind === 'test' ? 1 : part.parts.reduce((sum, one) => sum + countTests(one), 0);
}
