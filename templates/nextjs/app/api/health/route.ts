/** Asked when the app is deployed: it gets visitors once this answers. */
export const dynamic = 'force-dynamic';

export function GET() {
  return Response.json({ ok: true });
}
