import type { Endpoint } from '@svc/contract/endpoint.ts';

/** For the help of commands that call more than one. */
export function callText({ method, path }: Pick<Endpoint, 'method' | 'path'>): string {
  return `${method} ${path}`;
}
