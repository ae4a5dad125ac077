interface Instruction {
  word: string;
  rest: string;
}

export interface ParsedDockerfile {
  images: readonly string[];
  args: ReadonlySet<string>;
}

export class AmbiguousDockerfileError extends Error {}

const reference =
  /\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:(:?[-+])((?:[^{}$]|\$[A-Za-z_]\w*|\$\{[A-Za-z_]\w*\})*))?\})/g;
/** Parses like the classic builder; rejects what newer builders parse differently. */
export function parseDockerfile(text: string, values: Readonly<Record<string, string>>): ParsedDockerfile {
  const images: string[] = [];
  const args = new Set<string>();
  const stages: string[] = [];
  const known: Record<string, string> = {};

  function isStage(name: string): boolean {
    return stages.includes(name.toLowerCase());
  }

  function take({ word, rest }: Instruction): void {
    const { flags, words } = splitFlags(rest);
    switch (word) {
      case 'ONBUILD':
        take(parseInstruction(rest));
        return;
      case 'ARG':
        for (const [name, value] of parsePairs(words)) {
          args.add(name);
          if (stages.length > 0) continue;
          const found = values[name] ?? (value === null ? undefined : tryExpand(value, known));
          if (found !== undefined) known[name] = found;
        }
        return;
      case 'FROM': {
        const image = expand(removeQuotes(words[0] ?? ''), known);
        if (!isStage(image)) images.push(image);
        stages.push(words[1]?.toUpperCase() === 'AS' ? (words[2] ?? '').toLowerCase() : '');
        return;
      }
      default:
        // The engine removes quotes and backslashes from flags.
        if (['COPY', 'ADD', 'RUN'].includes(word) && flags.some((flag) => /["'\\]/.test(flag)))
          throw new AmbiguousDockerfileError(`${word} ${rest}`);
        for (const from of flags.flatMap(parseFrom)) {
          if (from.includes('$')) throw new AmbiguousDockerfileError(`${word} ${rest}`);
          const isIndex = /^\d{1,4}$/.test(from) && Number(from) < stages.length;
          if (!isStage(from) && !isIndex) images.push(from);
        }
    }
  }

  for (const each of parseInstructions(text)) take(each);
  return { images, args };
}

function expand(text: string, known: Readonly<Record<string, string>>): string {
  const found = text.replace(reference, (_, bare, name, how: string | undefined, rest = '') => {
    const value = known[bare ?? name];
    const isThere = value !== undefined && !(how?.startsWith(':') && value === '');
    if (how?.endsWith('-')) return isThere ? value : expand(rest, known);
    if (how?.endsWith('+')) return isThere ? expand(rest, known) : '';
    return value ?? '';
  });
  if (/["'\\$`\s]/.test(found)) throw new AmbiguousDockerfileError(text);
  return found;
}

function tryExpand(text: string, known: Readonly<Record<string, string>>): string {
  try {
    return expand(text, known);
  } catch {
    return '"';
  }
}

function parseInstructions(text: string): Instruction[] {
  const found: Instruction[] = [];
  let joined: string | null = null;
  // The engine treats U+0085 as a space.
  for (const line of text
    .replace(/^\uFEFF/, '')
    .replaceAll('\u0085', ' ')
    .split(/\r?\n/)) {
    // Engines differ in whether such a line continues, and where an escape directive applies.
    if (/\\\\[ \t]*$/.test(line) || /^\s*#\s*escape\s*=\s*[^\\\s]/i.test(line))
      throw new AmbiguousDockerfileError(line.trim());
    if (/^\s*(?:#|$)/.test(line)) continue;
    const whole: string = (joined ?? '') + (joined === null ? line.trimStart() : line);
    joined = continuation.test(whole) ? whole.replace(continuation, '') : null;
    if (joined === null) found.push(parseInstruction(whole));
  }
  if (joined !== null) found.push(parseInstruction(joined));
  return found;
}

const continuation = /\\[ \t]*$/;

function parseInstruction(line: string): Instruction {
  const [, word = '', rest = ''] = /^\s*(\S+)\s*([\s\S]*)$/.exec(line) ?? [];
  return { word: word.toUpperCase(), rest: rest.trim() };
}

function splitFlags(rest: string): { flags: string[]; words: string[] } {
  const all = rest.split(/\s+/).filter((word) => word !== '');
  const first = all.findIndex((word) => !word.startsWith('--'));
  const at = first < 0 ? all.length : first;
  return { flags: all.slice(0, at), words: all.slice(at) };
}

function parseFrom(flag: string): string[] {
  const [, name = '', value = ''] = /^--([\w-]+)=?(.*)$/s.exec(flag) ?? [];
  if (name.toLowerCase() === 'from') return [value];
  if (name.toLowerCase() !== 'mount') return [];
  return value.split(',').flatMap((each) => /^"?from=(.*?)"?$/i.exec(each)?.[1] ?? []);
}

function parsePairs(words: readonly string[]): [name: string, value: string | null][] {
  return words.flatMap((word) => {
    const [, name, value] = /^([A-Za-z_]\w*)(?:=([\s\S]*))?$/.exec(word) ?? [];
    return name === undefined ? [] : [[name, value === undefined ? null : removeQuotes(value)] as const];
  }) as [string, string | null][];
}

function removeQuotes(text: string): string {
  return /^"[^"]*"$|^'[^']*'$/.test(text) ? text.slice(1, -1) : text;
}

export const imageRegistry = 'localhost:1/';
/** In any registry. */
const appImage = /(?:^|\/)svc\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w-])/i;

/**
 * An engine accepts the first letters of an image ID, by which an app could guess images of others: short IDs
 * are rejected.
 */
export function findImageProblem(name: string): string | null {
  if (name.toLowerCase().startsWith(imageRegistry) || appImage.test(name))
    return 'is a name of the platform’s images';
  if (/^[0-9a-f]{1,64}$/i.test(name) || /^[a-z0-9]+:[0-9a-f]{64}$|^sha\d+:/i.test(name))
    return 'could be the ID of an image; use a name with a tag';
  return null;
}
