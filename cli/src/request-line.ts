/** Address, status and time only: headers and bodies hold secrets. */
export function requestLine(url: string, method: string, ms: number, response: Response | null): string {
  const { origin, pathname, search } = new URL(url);
  const outcome = response === null ? 'failed' : String(response.status);
  const requestId = response?.headers.get('x-request-id');
  return `${method} ${origin}${withoutSignature(pathname)}${withoutToken(search)} ${outcome}${requestId ? ` ${requestId}` : ''} ${ms}ms\n`;
}

/** Addresses that are signed let in whoever has them. */
function withoutToken(search: string): string {
  return search.replace(/([?&]token=)[^&]*/g, '$1…');
}

function withoutSignature(path: string): string {
  return path.replace(/^\/(objects|uploads|sources)\/[^/]*/, '/$1/…');
}
