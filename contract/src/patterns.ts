import {
  type Branch,
  createMatcher,
  lastPoint,
  type Node,
  PatternError,
  type Range,
} from './pattern-matcher.ts';

/**
 * The part of ECMAScript's regular expressions (flag `u`) that can be matched in linear time: no backreferences, lookaround,
 * word boundaries or lazy quantifiers. One syntax tree gives the matcher here and the text for PostgreSQL.
 */
export const patternCharsMax = 500;
const repeatMax = 255;

export interface Pattern {
  /** The pattern for PostgreSQL's operator `~`: ASCII only, without quotes. */
  sql: string;
  test(text: string): boolean;
}

export function compilePattern(
  source: string,
): { ok: true; pattern: Pattern } | { ok: false; detail: string } {
  if (source === '' || source.length > patternCharsMax)
    return { ok: false, detail: `must have 1 to ${patternCharsMax} characters` };
  try {
    const branches = new PatternParser(source).parse();
    return { ok: true, pattern: { sql: branches.map(branchSql).join('|'), test: createMatcher(branches) } };
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    return { ok: false, detail: error.message };
  }
}

const digits: readonly Range[] = [[0x30, 0x39]];
const wordChars: readonly Range[] = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
];
const spaces: readonly Range[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];
const lineEnds: readonly Range[] = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
];
const classes: Readonly<Record<string, readonly Range[]>> = { d: digits, w: wordChars, s: spaces };
const controls: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13 };
const syntaxChars = '^$\\.*+?()[]{}|/';

function complement(ranges: readonly Range[]): Range[] {
  const rest: Range[] = [];
  let from = 0;
  for (const [start, end] of [...ranges].sort((a, b) => a[0] - b[0])) {
    if (start > from) rest.push([from, start - 1]);
    from = Math.max(from, end + 1);
  }
  if (from <= lastPoint) rest.push([from, lastPoint]);
  return rest;
}

class PatternParser {
  readonly #chars: readonly string[];
  #at = 0;

  constructor(source: string) {
    if (!source.isWellFormed()) throw new PatternError('must be well-formed Unicode');
    this.#chars = [...source];
  }

  parse(): Branch[] {
    const branches: Branch[] = [];
    do {
      const isAtStart = this.#take('^');
      const node = this.#sequence();
      branches.push({ isAtStart, node, isAtEnd: this.#take('$') });
    } while (this.#take('|'));
    if (this.#at < this.#chars.length) throw this.#unexpected();
    return branches;
  }

  #unexpected(): PatternError {
    const char = this.#chars[this.#at];
    if (char === undefined) return new PatternError('ends too early');
    const hint = char === '^' || char === '$' ? '; ^ and $ may only be at the ends' : '';
    return new PatternError(`has \`${char}\` where it is not supported${hint}`);
  }

  #take(char: string): boolean {
    if (this.#chars[this.#at] !== char) return false;
    this.#at++;
    return true;
  }

  #choice(): Node {
    const parts = [this.#sequence()];
    while (this.#take('|')) parts.push(this.#sequence());
    return { kind: 'choice', parts };
  }

  #sequence(): Node {
    const parts: Node[] = [];
    for (;;) {
      const char = this.#chars[this.#at];
      if (char === undefined || '|)^$'.includes(char)) return { kind: 'sequence', parts };
      parts.push(this.#quantified(this.#atom()));
    }
  }

  #atom(): Node {
    if (this.#take('(')) {
      if (this.#take('?') && !this.#take(':'))
        throw new PatternError('has a group (?…) that is not supported; only (…) and (?:…) are');
      const node = this.#choice();
      if (!this.#take(')')) throw this.#unexpected();
      return node;
    }
    if (this.#take('.')) return { kind: 'set', ranges: complement(lineEnds) };
    if (this.#take('[')) return { kind: 'set', ranges: this.#class() };
    if (this.#take('\\')) {
      const escaped = this.#escape('');
      return { kind: 'set', ranges: typeof escaped === 'number' ? [[escaped, escaped]] : escaped };
    }
    const char = this.#chars[this.#at];
    if (char === undefined || syntaxChars.replace('/', '').includes(char)) throw this.#unexpected();
    this.#at++;
    const point = char.codePointAt(0) ?? 0;
    return { kind: 'set', ranges: [[point, point]] };
  }

  #class(): readonly Range[] {
    const isNegated = this.#take('^');
    const ranges: Range[] = [];
    while (!this.#take(']')) {
      const from = this.#classItem();
      if (typeof from !== 'number') {
        ranges.push(...from);
        continue;
      }
      const isRange = this.#chars[this.#at] === '-' && this.#chars[this.#at + 1] !== ']';
      if (!isRange) {
        ranges.push([from, from]);
        continue;
      }
      this.#at++;
      const to = this.#classItem();
      if (typeof to !== 'number' || to < from) throw new PatternError('has a range that is not in order');
      ranges.push([from, to]);
    }
    return isNegated ? complement(ranges) : ranges;
  }

  #classItem(): number | readonly Range[] {
    if (this.#take('\\')) return this.#escape('-');
    const char = this.#chars[this.#at++];
    if (char === undefined) throw new PatternError('has a class without its ]');
    return char.codePointAt(0) ?? 0;
  }

  #escape(more: string): number | readonly Range[] {
    const char = this.#chars[this.#at++] ?? '';
    const named = classes[char.toLowerCase()];
    if (named) return char === char.toLowerCase() ? named : complement(named);
    const control = controls[char];
    if (control !== undefined) return control;
    if (char !== '' && (syntaxChars + more).includes(char)) return char.codePointAt(0) ?? 0;
    if (char === 'u') {
      const hex = this.#chars.slice(this.#at, this.#at + 4).join('');
      const point = /^[0-9a-fA-F]{4}$/.test(hex) ? Number.parseInt(hex, 16) : 0;
      if (point === 0 || (point >= 0xd800 && point <= 0xdfff))
        throw new PatternError('has an escape \\u that is not a character');
      this.#at += 4;
      return point;
    }
    throw new PatternError(`has the escape \\${char}, which is not supported`);
  }

  #quantified(part: Node): Node {
    const bounds = this.#quantifier();
    if (!bounds) return part;
    if ('*+?{'.includes(this.#chars[this.#at] ?? ' ')) throw this.#unexpected();
    return { kind: 'repeat', part, ...bounds };
  }

  #quantifier(): { min: number; max: number } | null {
    if (this.#take('*')) return { min: 0, max: Number.POSITIVE_INFINITY };
    if (this.#take('+')) return { min: 1, max: Number.POSITIVE_INFINITY };
    if (this.#take('?')) return { min: 0, max: 1 };
    if (this.#chars[this.#at] !== '{') return null;
    const match = /^\{([0-9]{1,4})(,([0-9]{0,4}))?\}/.exec(
      this.#chars.slice(this.#at, this.#at + 12).join(''),
    );
    if (!match) throw this.#unexpected();
    this.#at += match[0].length;
    const min = Number(match[1]);
    const max = match[2] === undefined ? min : match[3] === '' ? Number.POSITIVE_INFINITY : Number(match[3]);
    if (min > repeatMax || (max !== Number.POSITIVE_INFINITY && max > repeatMax) || max < min)
      throw new PatternError(`has a repetition that is not within 0 to ${repeatMax}`);
    return { min, max };
  }
}

const branchSql = ({ isAtStart, isAtEnd, node }: Branch) =>
  `${isAtStart ? '^' : ''}(?:${nodeSql(node)})${isAtEnd ? '$' : ''}`;

function nodeSql(node: Node): string {
  switch (node.kind) {
    case 'set':
      // No character is in an empty class: PostgreSQL has no U+0000, so that its complement is used.
      return `[${node.ranges.length === 0 ? '^\\u0001-\\U0010ffff' : node.ranges.map(rangeSql).join('')}]`;
    case 'sequence':
      return node.parts.map(nodeSql).join('');
    case 'choice':
      return `(?:${node.parts.map(nodeSql).join('|')})`;
    case 'repeat': {
      const { min, max } = node;
      const bounds = max === Number.POSITIVE_INFINITY ? `${min},` : `${min},${max}`;
      return `(?:${nodeSql(node.part)}){${bounds}}`;
    }
  }
}

const rangeSql = ([from, to]: Range) =>
  from === to ? pointSql(from) : `${pointSql(Math.max(from, 1))}-${pointSql(to)}`;
const pointSql = (point: number) => `\\U${point.toString(16).padStart(8, '0')}`;
