/** What a `.env` text sets, as tools read such files; lines that are none of that are named, never repeated. */
export interface ParsedEnv {
  set: Record<string, string>;
  /** Their numbers, from 1. */
  oddLines: number[];
}

const assignment = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=[^\S\n]*/;

export function parseEnv(text: string): ParsedEnv {
  const parsed: ParsedEnv = { set: {}, oddLines: [] };
  const lines = text.replace(/\r\n?/g, '\n').split('\n');
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    if (/^\s*(?:#|$)/.test(line)) continue;
    const [head = '', name] = assignment.exec(line) ?? [];
    if (name === undefined) {
      parsed.oddLines.push(at + 1);
      continue;
    }
    const rest = line.slice(head.length);
    const quote = /^["'`]/.exec(rest)?.[0];
    if (quote === undefined) {
      parsed.set[name] = rest.replace(/#.*$/, '').trim();
      continue;
    }
    const { value, lastLine } = quoted(lines, { at, column: head.length + 1, quote });
    if (value === null) parsed.oddLines.push(at + 1);
    else parsed.set[name] = quote === '"' ? value.replaceAll('\\n', '\n') : value;
    at = lastLine;
  }
  return parsed;
}

/** Up to the same quote, over as many lines as that takes; null: it never comes. */
function quoted(
  lines: readonly string[],
  { at, column, quote }: { at: number; column: number; quote: string },
): { value: string | null; lastLine: number } {
  const taken: string[] = [];
  for (let line = at; line < lines.length; line++) {
    const text = (lines[line] ?? '').slice(line === at ? column : 0);
    const end = text.indexOf(quote);
    if (end >= 0) return { value: [...taken, text.slice(0, end)].join('\n'), lastLine: line };
    taken.push(text);
  }
  return { value: null, lastLine: at };
}
