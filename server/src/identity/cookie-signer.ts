import { createHmac, timingSafeEqual } from 'node:crypto';

/** Signs the cookies of the sign-in pages with the first key and takes those of all; in the shape that Koa asks for. */
export class CookieSigner {
  readonly #keys: readonly string[];

  constructor(keys: readonly string[]) {
    this.#keys = keys;
  }

  sign(data: string): string {
    return signature(data, this.#keys[0] ?? '');
  }

  verify(data: string, given: string): boolean {
    return this.index(data, given) >= 0;
  }

  index(data: string, given: string): number {
    return this.#keys.findIndex((key) => {
      const expected = Buffer.from(signature(data, key));
      const presented = Buffer.from(given);
      return presented.length === expected.length && timingSafeEqual(presented, expected);
    });
  }
}

function signature(data: string, key: string): string {
  return createHmac('sha256', key).update(data).digest('base64url');
}
