/** A row as the server wrote it: of each column its very JSON, so that no digit is lost on the way through a browser. */
export type RawRow = ReadonlyMap<string, string>;

/** The members of an object, each as its JSON. The text is one that `JSON.parse` takes. */
export function membersOf(json: string): Map<string, string> {
  const members = new Map<string, string>();
  let at = skipSpace(json, skipSpace(json, 0) + 1);
  while (json[at] === '"') {
    const nameEnd = endOfString(json, at);
    const name: string = JSON.parse(json.slice(at, nameEnd));
    // Behind the name stands a colon.
    const start = skipSpace(json, skipSpace(json, nameEnd) + 1);
    const end = endOfValue(json, start);
    members.set(name, json.slice(start, end));
    at = skipSpace(json, end);
    if (json[at] !== ',') break;
    at = skipSpace(json, at + 1);
  }
  return members;
}

/** The items of an array, each as its JSON. */
export function itemsOf(json: string): string[] {
  const items: string[] = [];
  let at = skipSpace(json, skipSpace(json, 0) + 1);
  while (at < json.length && json[at] !== ']') {
    const end = endOfValue(json, at);
    items.push(json.slice(at, end));
    at = skipSpace(json, end);
    if (json[at] !== ',') break;
    at = skipSpace(json, at + 1);
  }
  return items;
}

export function objectText(members: Iterable<readonly [string, string]>): string {
  return `{${Array.from(members, ([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`;
}

function endOfValue(json: string, start: number): number {
  const first = json[start];
  if (first === '"') return endOfString(json, start);
  if (first !== '{' && first !== '[') return endOfPlain(json, start);
  let depth = 0;
  let at = start;
  while (at < json.length) {
    const char = json[at];
    if (char === '"') {
      at = endOfString(json, at);
      continue;
    }
    if (char === '{' || char === '[') depth++;
    if ((char === '}' || char === ']') && --depth === 0) return at + 1;
    at++;
  }
  return at;
}

function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return at + 1;
}

function endOfPlain(json: string, start: number): number {
  let at = start;
  while (at < json.length && !/[\s,\]}]/.test(json[at] ?? '')) at++;
  return at;
}

function skipSpace(json: string, start: number): number {
  let at = start;
  while (at < json.length && /\s/.test(json[at] ?? '')) at++;
  return at;
}
