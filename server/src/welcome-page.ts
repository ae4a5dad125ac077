/** What a browser sees at the root: that the server runs, and where to go from here. */
export function welcomePage(baseUrl: string): Response {
  const body = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>svc</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.6 system-ui, sans-serif; }
  body { max-width: 40rem; margin: 12vh auto; padding: 0 1.25rem; }
  code { background: color-mix(in srgb, currentColor 10%, transparent); padding: .1em .35em; border-radius: .3em; }
  a { color: light-dark(#1a56c4, #8ab4ff); }
</style>
<h1>svc is running</h1>
<p>This is the application platform at <code>${baseUrl}</code>.</p>
<ul>
  <li>On this machine: <code>./svc login --local</code>, then <code>./svc whoami</code>.</li>
  <li>From anywhere: <code>SVC_BASE_URL=${baseUrl} svc login</code>.</li>
  <li>The HTTP surface: <a href="/api/v1/openapi.json">OpenAPI document</a>.</li>
</ul>
</html>`;
  return new Response(body, {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
    },
  });
}
