import { describeColumnType } from '@svc/contract/columns.ts';
import { endOfValue } from '@svc/contract/json.ts';
import type { ColumnPosition } from './row-table.ts';

interface Member {
  /** From the end of the value before: comma, spaces, key and colon. */
  before: string;
  position: ColumnPosition;
  plainSource: RegExp | null;
  quotes: 0 | 1;
}

/** The text around the values of a row. The rows of one client mostly have the same. */
export interface RowLayout {
  members: readonly Member[];
  after: string;
}

export class LayoutReader {
  readonly #members: Member[] = [];
  #end: number;

  constructor(start: number) {
    this.#end = start;
  }

  add(text: string, position: ColumnPosition, valueStart: number, valueEnd: number): void {
    const { json, plainSource } = describeColumnType(position.type);
    const isPlain = plainSource !== undefined && !position.checks && position.sqlType !== 'numeric';
    this.#members.push({
      before: text.slice(this.#end, valueStart),
      position,
      plainSource: isPlain ? plainSource : null,
      quotes: json === 'string' || json === 'token' || json === 'timestamp' ? 1 : 0,
    });
    this.#end = valueEnd;
  }

  /** Null if it is too long to be stored. */
  end(text: string, end: number): RowLayout | null {
    const after = text.slice(this.#end, end);
    const chars = this.#members.reduce((sum, { before }) => sum + before.length, after.length);
    if (chars > layoutCharsMax) return null;
    const members = this.#members.map((member) => ({ ...member, before: copied(member.before) }));
    return { members, after: copied(after) };
  }
}

const layoutCharsMax = 64 * 1024;
/** A part of a string keeps the whole string in memory. */
const copied = (text: string) => Buffer.from(text).toString();

/** False if the text has another layout, or a value that is refused. */
export function readByLayout(
  { members, after }: RowLayout,
  text: string,
  [start, end]: readonly [number, number],
  input: (string | null | undefined)[],
  parseValue: (position: ColumnPosition, raw: string) => string | null | undefined,
): boolean {
  let at = start;
  for (let index = 0; index < members.length; index++) {
    const member = members[index];
    if (!member || !text.startsWith(member.before, at)) return false;
    const { plainSource, position, quotes } = member;
    at += member.before.length;
    if (plainSource !== null) {
      plainSource.lastIndex = at;
      if (plainSource.test(text)) {
        const valueEnd = plainSource.lastIndex;
        input[position.at] = text.slice(at + quotes, valueEnd - quotes);
        at = valueEnd;
        continue;
      }
    }
    const valueEnd = endOfValue(text, at, end);
    const value = valueEnd > at ? parseValue(position, text.slice(at, valueEnd)) : undefined;
    if (value === undefined) return false;
    input[position.at] = value;
    at = valueEnd;
  }
  return at + after.length === end && text.startsWith(after, at);
}
