import { errorOf } from './errors.ts';

/** The body of an answer; one that is not JSON came from somebody else. */
export async function readJson<T>(response: Response): Promise<T> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    throw errorOf(response, text);
  }
}
