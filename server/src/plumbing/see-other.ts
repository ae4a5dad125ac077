/** Addresses of ours may hold codes: nobody keeps them, and nobody is told of them. */
export function seeOther(location: string, more: Record<string, string> = {}): Response {
  const headers = { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', ...more };
  return new Response(null, { status: 303, headers });
}
