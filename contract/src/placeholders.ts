import type { Condition, Test } from './filter.ts';

const wordPattern = /^@([A-Za-z_]\w*)\.(.*)$/s;
const barePattern = /^@(me|old|new)$/;
const orderOps: readonly string[] = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte'];
/** Their values may begin with @, such as `email=ew.@example.com`. */
const textOps: readonly string[] = ['like', 'ilike', 'sw', 'isw', 'ew', 'iew', 'has', 'ihas'];

/** Lists of the caller, with the operators that take a list: the others compare with one value. */
const lists: readonly string[] = ['@me.roles', '@me.groups'];
const listOps: readonly string[] = ['eq', 'neq', 'in', 'ov'];
export const isCallerList = (operand: string) => lists.includes(operand);

/** Why a placeholder of a filter would be compared as a text, or could match nothing; null if there is none. `rows` says which of `@old` and `@new` are known. */
export function placeholderProblem(
  conditions: readonly Condition[],
  rows: readonly ('old' | 'new')[] = [],
): string | null {
  const [found] = conditions.flatMap((condition) => unknownIn(condition, rows));
  if (found === undefined) return null;
  if (isCallerList(found))
    return `${found} is a list: compare it with eq, neq or in, or a column of lists with ov`;
  const known = ['@me.id', '@me.email', '@me.roles', '@me.groups', '@me.<attribute>'];
  const names = [...known, ...rows.map((row) => `@${row}.<column>`)];
  return `${JSON.stringify(found)} is not a placeholder here; known are ${names.join(', ')}`;
}

function unknownIn(condition: Condition, rows: readonly string[]): string[] {
  if (condition.kind !== 'test') return condition.parts.flatMap((part) => unknownIn(part, rows));
  return [condition.operand].flat().filter((operand) => !isKnown(condition, operand, rows));
}

function isKnown({ op }: Test, operand: string, rows: readonly string[]): boolean {
  if (barePattern.test(operand)) return false;
  const [, word, name] = wordPattern.exec(operand) ?? [];
  if (word === undefined) return true;
  if (word === 'me') return name !== '' && (!isCallerList(operand) || listOps.includes(op));
  if (word === 'old' || word === 'new') return rows.includes(word) && orderOps.includes(op) && name !== '';
  return textOps.includes(op);
}
