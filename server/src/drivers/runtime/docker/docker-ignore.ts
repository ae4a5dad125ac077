/** What `.dockerignore` says of a path below the context, as the docker command reads it: the last line that fits counts. */
export function parseDockerIgnore(text: string): (path: string) => boolean {
  const rules = text
    .split(/\r?\n/)
    .map((line) => line.replace(/^\ufeff/, ''))
    .filter((line) => !line.startsWith('#'))
    .map((line) => line.trim())
    .filter((line) => line !== '' && line !== '!')
    .map((line) => {
      const isException = line.startsWith('!');
      const pattern = isException ? line.slice(1).trim() : line;
      return { isException, fits: patternOf(cleaned(pattern)) };
    });
  return (path) => {
    let isIgnored = false;
    for (const { isException, fits } of rules) {
      // A folder stands for everything in it.
      if (isIgnored === isException && fits.test(path)) isIgnored = !isException;
    }
    return isIgnored;
  };
}

/** `./a//b/../c/` is `a/c`. */
function cleaned(pattern: string): string {
  const parts: string[] = [];
  for (const part of pattern.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..') parts.pop();
    else parts.push(part);
  }
  return parts.join('/');
}

function patternOf(pattern: string): RegExp {
  let text = '';
  for (let at = 0; at < pattern.length; at++) {
    const sign = pattern.charAt(at);
    if (sign === '*' && pattern[at + 1] === '*') {
      at++;
      if (pattern[at + 1] === '/') {
        at++;
        text += '(?:.*/)?';
      } else text += '.*';
    } else if (sign === '*') text += '[^/]*';
    else if (sign === '?') text += '[^/]';
    else if (sign === '[' && pattern.indexOf(']', at + 1) > at + 1) {
      const end = pattern.indexOf(']', at + 1);
      text += `[${pattern.slice(at + 1, end).replace(/[[\\]/g, '\\$&')}]`;
      at = end;
    } else if (sign === '\\' && at + 1 < pattern.length) text += escaped(pattern.charAt(++at));
    else text += escaped(sign);
  }
  try {
    return new RegExp(`^${text}(?:/.*)?$`, 's');
  } catch {
    // A range that is none: the docker command refuses such a file, and nothing fits here.
    return /(?!)/;
  }
}

const escaped = (sign: string) => sign.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
