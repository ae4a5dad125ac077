/** One instruction, on one line, as the engine puts it together. */
interface Instruction {
  word: string;
  rest: string;
}

/** Of a Dockerfile: which images it takes, and which arguments it asks for. */
export interface DockerfileReading {
  /** Images that are none of its own stages; what `ARG` gives is put in. */
  images: readonly string[];
  /** Names after `ARG`, wherever it stands. */
  args: ReadonlySet<string>;
}

/** What can not be told from the text: better refused than guessed. */
export class UnclearDockerfile extends Error {}

const reference =
  /\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:(:?[-+])((?:[^{}$]|\$[A-Za-z_]\w*|\$\{[A-Za-z_]\w*\})*))?\})/g;
/** As the classic builder reads it; what newer ones would read differently is not taken. */
export function readDockerfile(text: string, given: Readonly<Record<string, string>>): DockerfileReading {
  const images: string[] = [];
  const args = new Set<string>();
  const stages: string[] = [];
  /** Of `ARG` before the first `FROM`, which alone count there. */
  const known: Record<string, string> = {};

  function isStage(name: string): boolean {
    return stages.includes(name.toLowerCase());
  }

  function take({ word, rest }: Instruction): void {
    const { flags, words } = splitFlags(rest);
    switch (word) {
      case 'ONBUILD':
        take(instructionOf(rest));
        return;
      case 'ARG':
        for (const [name, value] of pairsOf(words)) {
          args.add(name);
          if (stages.length > 0) continue;
          const found = given[name] ?? (value === null ? undefined : expandOrNot(value, known));
          if (found !== undefined) known[name] = found;
        }
        return;
      case 'FROM': {
        const image = expand(unquoted(words[0] ?? ''), known);
        if (!isStage(image)) images.push(image);
        stages.push(words[1]?.toUpperCase() === 'AS' ? (words[2] ?? '').toLowerCase() : '');
        return;
      }
      default:
        // The engine takes quotes and backslashes out of them.
        if (['COPY', 'ADD', 'RUN'].includes(word) && flags.some((flag) => /["'\\]/.test(flag)))
          throw new UnclearDockerfile(`${word} ${rest}`);
        for (const from of flags.flatMap(fromIn)) {
          if (from.includes('$')) throw new UnclearDockerfile(`${word} ${rest}`);
          const isIndex = /^\d{1,4}$/.test(from) && Number(from) < stages.length;
          if (!isStage(from) && !isIndex) images.push(from);
        }
    }
  }

  for (const each of instructionsIn(text)) take(each);
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
  if (/["'\\$`\s]/.test(found)) throw new UnclearDockerfile(text);
  return found;
}

/** What is no plain word makes no difference until an image is named by it. */
function expandOrNot(text: string, known: Readonly<Record<string, string>>): string {
  try {
    return expand(text, known);
  } catch {
    return '"';
  }
}

function instructionsIn(text: string): Instruction[] {
  const found: Instruction[] = [];
  let kept: string | null = null;
  // To the engine U+0085 is a space.
  for (const line of text
    .replace(/^\uFEFF/, '')
    .replaceAll('\u0085', ' ')
    .split(/\r?\n/)) {
    // Engines differ in whether such a line goes on, and from where on another escape counts.
    if (/\\\\[ \t]*$/.test(line) || /^\s*#\s*escape\s*=\s*[^\\\s]/i.test(line))
      throw new UnclearDockerfile(line.trim());
    // Between lines that go on, these count for nothing.
    if (/^\s*(?:#|$)/.test(line)) continue;
    const whole: string = (kept ?? '') + (kept === null ? line.trimStart() : line);
    kept = goesOn.test(whole) ? whole.replace(goesOn, '') : null;
    if (kept === null) found.push(instructionOf(whole));
  }
  if (kept !== null) found.push(instructionOf(kept));
  return found;
}

const goesOn = /\\[ \t]*$/;

function instructionOf(line: string): Instruction {
  const [, word = '', rest = ''] = /^\s*(\S+)\s*([\s\S]*)$/.exec(line) ?? [];
  return { word: word.toUpperCase(), rest: rest.trim() };
}

function splitFlags(rest: string): { flags: string[]; words: string[] } {
  const all = rest.split(/\s+/).filter((word) => word !== '');
  const first = all.findIndex((word) => !word.startsWith('--'));
  const at = first < 0 ? all.length : first;
  return { flags: all.slice(0, at), words: all.slice(at) };
}

/** `--from=x`, and `from=x` among what `--mount` says. */
function fromIn(flag: string): string[] {
  const [, name = '', value = ''] = /^--([\w-]+)=?(.*)$/s.exec(flag) ?? [];
  if (name.toLowerCase() === 'from') return [value];
  if (name.toLowerCase() !== 'mount') return [];
  return value.split(',').flatMap((each) => /^"?from=(.*?)"?$/i.exec(each)?.[1] ?? []);
}

function pairsOf(words: readonly string[]): [name: string, value: string | null][] {
  return words.flatMap((word) => {
    const [, name, value] = /^([A-Za-z_]\w*)(?:=([\s\S]*))?$/.exec(word) ?? [];
    return name === undefined ? [] : [[name, value === undefined ? null : unquoted(value)] as const];
  }) as [string, string | null][];
}

function unquoted(text: string): string {
  return /^"[^"]*"$|^'[^']*'$/.test(text) ? text.slice(1, -1) : text;
}
