/** The syntax tree of a pattern, and its match in linear time. */
export type Range = readonly [from: number, to: number];
export type Node =
  | { kind: 'set'; ranges: readonly Range[] }
  | { kind: 'sequence'; parts: readonly Node[] }
  | { kind: 'choice'; parts: readonly Node[] }
  | { kind: 'repeat'; part: Node; min: number; max: number };

export interface Branch {
  isAtStart: boolean;
  isAtEnd: boolean;
  node: Node;
}

export class PatternError extends Error {}

export const lastPoint = 0x10ffff;
const statesMax = 2_000;

interface State {
  ranges: readonly Range[];
  next: number;
  /** For a state without ranges: the next states, which consume no character. */
  jumps: number[];
}

/** Thompson's construction; states of the automaton are made when they are first reached. */
export function createMatcher(branches: readonly Branch[]): (text: string) => boolean {
  const states: State[] = [];
  const add = (ranges: readonly Range[] = [], next = -1): number => {
    if (states.length >= statesMax)
      throw new PatternError('is too long when its repetitions are written out');
    states.push({ ranges, next, jumps: [] });
    return states.length - 1;
  };
  const jump = (from: number, to: number) => void states[from]?.jumps.push(to);
  /** Answers where `node` begins if it is followed by `next`. */
  const build = (node: Node, next: number): number => {
    switch (node.kind) {
      case 'set':
        return add(node.ranges.length === 0 ? [[-1, -1]] : node.ranges, next);
      case 'sequence':
        return node.parts.reduceRight((after, part) => build(part, after), next);
      case 'choice': {
        const start = add();
        for (const part of node.parts) jump(start, build(part, next));
        return start;
      }
      case 'repeat': {
        let start = next;
        if (node.max === Number.POSITIVE_INFINITY) {
          start = add();
          jump(start, build(node.part, start));
          jump(start, next);
        } else {
          for (let count = node.min; count < node.max; count++) {
            const optional = add();
            jump(optional, build(node.part, start));
            jump(optional, next);
            start = optional;
          }
        }
        for (let count = 0; count < node.min; count++) start = build(node.part, start);
        return start;
      }
    }
  };
  const found = add();
  const atEnd = add();
  const starts = branches.map(({ isAtStart, isAtEnd, node }) => {
    const start = build(node, isAtEnd ? atEnd : found);
    if (isAtStart) return start;
    const anywhere = add();
    jump(anywhere, start);
    jump(anywhere, add([[0, lastPoint]], anywhere));
    return anywhere;
  });
  return createAutomaton(states, { starts, found, atEnd });
}

interface AutomatonState {
  members: readonly number[];
  isFound: boolean;
  isFoundAtEnd: boolean;
  next: (AutomatonState | undefined)[];
}

const automatonStatesMax = 2_000;

function createAutomaton(
  states: readonly State[],
  { starts, found, atEnd }: { starts: readonly number[]; found: number; atEnd: number },
): (text: string) => boolean {
  // Characters between two bounds behave alike.
  const bounds = [...new Set(states.flatMap(({ ranges }) => ranges.flatMap(([from, to]) => [from, to + 1])))];
  bounds.sort((a, b) => a - b);
  const known = new Map<string, AutomatonState>();
  const stateFor = (from: readonly number[]): AutomatonState => {
    const members = new Set<number>();
    const pending = [...from];
    for (let state = pending.pop(); state !== undefined; state = pending.pop()) {
      if (members.has(state)) continue;
      members.add(state);
      pending.push(...(states[state]?.jumps ?? []));
    }
    const sorted = [...members].sort((a, b) => a - b);
    const key = sorted.join();
    let combined = known.get(key);
    if (!combined) {
      if (known.size >= automatonStatesMax) known.clear();
      const isFound = members.has(found);
      combined = { members: sorted, isFound, isFoundAtEnd: isFound || members.has(atEnd), next: [] };
      known.set(key, combined);
    }
    return combined;
  };
  const step = (from: AutomatonState, point: number): AutomatonState =>
    stateFor(
      from.members.flatMap((member) => {
        const { ranges = [], next = -1 } = states[member] ?? {};
        return ranges.some(([low, high]) => point >= low && point <= high) ? [next] : [];
      }),
    );
  let start = stateFor(starts);
  return (text) => {
    if (!known.has(start.members.join())) start = stateFor(starts);
    let state = start;
    for (let at = 0; at < text.length; at++) {
      if (state.isFound) return true;
      const point = text.codePointAt(at) ?? 0;
      if (point > 0xffff) at++;
      const kind = boundsBelow(bounds, point);
      let next = state.next[kind];
      if (!next) {
        next = step(state, point);
        state.next[kind] = next;
      }
      state = next;
      if (state.members.length === 0) return false;
    }
    return state.isFoundAtEnd;
  };
}

function boundsBelow(bounds: readonly number[], point: number): number {
  let low = 0;
  let high = bounds.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((bounds[middle] ?? 0) <= point) low = middle + 1;
    else high = middle;
  }
  return low;
}
