/** A well-formed id sent by the client is kept, so that both sides' logs agree. */
export function requestIdOf(request: Request): string {
  return requestIdFrom(request.headers.get('x-request-id'));
}

export function requestIdFrom(sent: string | null): string {
  return sent !== null && isRequestId(sent) ? sent : Bun.randomUUIDv7();
}

export function isRequestId(text: string): boolean {
  return /^[A-Za-z0-9._-]{1,128}$/.test(text);
}
