export interface CgiHead {
  status: number;
  headers: Record<string, string>;
  /** Where the body begins. */
  bodyAt: number;
}

/** Far more than the program ever says. */
const headBytesMax = 16 * 1024;
/** What it may tell a client; anything else is ours to say. */
const passedOn = new Set(['content-type', 'cache-control', 'expires', 'pragma']);

/** What a CGI program says before its body (RFC 3875, 6.2); null: it has not said all of it yet. */
export function readCgiHead(bytes: Buffer): CgiHead | null {
  const text = bytes.subarray(0, headBytesMax).toString('latin1');
  const end = /\r?\n\r?\n/.exec(text);
  if (!end) {
    if (bytes.length > headBytesMax) throw new Error('git http-backend said no head.');
    return null;
  }
  const head: CgiHead = { status: 200, headers: {}, bodyAt: end.index + end[0].length };
  for (const line of text.slice(0, end.index).split(/\r?\n/)) {
    const [, name = '', value = ''] = /^([\w-]+): *(.*)$/.exec(line) ?? [];
    if (/^status$/i.test(name)) head.status = Number(value.slice(0, 3)) || 500;
    else if (passedOn.has(name.toLowerCase())) head.headers[name.toLowerCase()] = value;
  }
  return head;
}
