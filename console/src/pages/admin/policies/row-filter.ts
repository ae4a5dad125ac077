import {
  type Condition,
  FilterError,
  type Group,
  parseRowFilter,
  printRowFilter,
} from '@svc/contract/filter.ts';
import { conditionsMax, type FilterOp, groupDepthMax, isKeywords } from '@svc/contract/rows.ts';

export type FilterPart = FilterTest | FilterGroup;

export interface FilterTest {
  kind: 'test';
  key: number;
  column: string;
  negated: boolean;
  op: FilterOp;
  values: string[];
}

export interface FilterGroup {
  kind: 'and' | 'or';
  key: number;
  negated: boolean;
  parts: FilterPart[];
}

let lastKey = 0;

export function newTest(fields: Partial<Omit<FilterTest, 'kind' | 'key'>> = {}): FilterTest {
  return { kind: 'test', key: ++lastKey, column: '', negated: false, op: 'eq', values: [''], ...fields };
}

export function newGroup(kind: FilterGroup['kind'], parts: FilterPart[], negated = false): FilterGroup {
  return { kind, key: ++lastKey, negated, parts };
}

export function withOp(test: FilterTest, op: FilterOp): FilterTest {
  const [first = '', second = ''] = test.values;
  if (op === 'in') return { ...test, op, values: test.values.filter((value) => value !== '') };
  if (op === 'between') return { ...test, op, values: [first, second] };
  if (op === 'is') return { ...test, op, values: [isKeywords.find((word) => word === first) ?? 'null'] };
  return { ...test, op, values: [first] };
}

export function filterError(root: FilterGroup): string | null {
  if (root.parts.length === 0) return null;
  if (countTests(root) > conditionsMax) return `A filter has at most ${conditionsMax} conditions.`;
  return groupError(root, root.kind === 'and' && !root.negated ? 0 : 1);
}

function groupError(group: FilterGroup, depth: number): string | null {
  if (depth > groupDepthMax) return `Groups are nested at most ${groupDepthMax} deep.`;
  if (group.parts.length === 0) return 'A group has no condition. Add one, or remove the group.';
  for (const part of group.parts) {
    const fault = part.kind === 'test' ? testError(part, depth) : groupError(part, depth + 1);
    if (fault !== null) return fault;
  }
  return null;
}

function testError({ column, op, values }: FilterTest, depth: number): string | null {
  if (column === '') return 'A condition names no column.';
  if (column.includes('=')) return `A filter cannot name the column ${column}: it contains “=”.`;
  if (depth > 0 && /[.,()"]/.test(column))
    return `A group cannot name the column ${column}: it contains one of . , ( ) ".`;
  if (op === 'in' && values.length === 0) return `The list for ${column} is empty: it would match nothing.`;
  if (op === 'between' && values.some((value) => value === ''))
    return `Between takes two values for ${column}.`;
  return null;
}

function countTests(part: FilterPart): number {
  return part.kind === 'test' ? 1 : part.parts.reduce((sum, one) => sum + countTests(one), 0);
}

type ParsedFilter = { root: FilterGroup; fault: null } | { root: null; fault: string };

export function parseFilter(text: string): ParsedFilter {
  try {
    const parts = parseRowFilter(text).map(toPart);
    const [only] = parts;
    const root = parts.length === 1 && only && only.kind !== 'test' ? only : newGroup('and', parts);
    const fault = filterError(root);
    return fault === null ? { root, fault } : { root: null, fault };
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    return { root: null, fault: `${error.field}: ${error.detail}` };
  }
}

function toPart(condition: Condition): FilterPart {
  if (condition.kind !== 'test') {
    return newGroup(condition.kind, condition.parts.map(toPart), condition.negated);
  }
  const { column, negated, op, operand } = condition;
  return newTest({ column, negated, op, values: typeof operand === 'string' ? [operand] : operand });
}

export function formatFilter(root: FilterGroup): string {
  if (root.parts.length === 0) return '';
  const group = toGroup(root);
  return printRowFilter(group.kind === 'and' && !group.negated ? group.parts : [group]);
}

function toGroup({ kind, negated, parts }: FilterGroup): Group {
  return { kind, negated, parts: parts.map((part) => (part.kind === 'test' ? toTest(part) : toGroup(part))) };
}

function toTest({ kind, column, negated, op, values }: FilterTest): Condition {
  const operand = op === 'in' || op === 'between' ? values : (values[0] ?? '');
  return { kind, column, negated, op, operand } as Condition;
}
